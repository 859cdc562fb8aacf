/* The belief over causes: prior times likelihood, one fault at a time, as in distkb.diagnosis.belief and .likelihood.
   The numbers come with the data; why each step is taken is written beside the Python it mirrors. */
(() => {
  "use strict";
  var distkb = window.distkb = window.distkb || {};
  var IN_LOGS = 1, IS_SIGNATURE = 2, FROM_LAUNCHER = 4, ENDING = 8, SILENT = 16, DEFINITE = 32, SETTLES = 64;

  function sum(numbers) {
    var total = 0;
    for (var i = 0; i < numbers.length; i++) total += numbers[i];
    return total;
  }

  /* Probabilities from their logarithms, which may all be off by the same amount. */
  function normalised(scores) {
    var top = Math.max.apply(null, scores), weights = scores.map(score => Math.exp(score - top)), total = sum(weights);
    return weights.map(weight => weight / total);
  }

  function entropy(probabilities) {
    var total = 0;
    for (var i = 0; i < probabilities.length; i++) {
      if (probabilities[i] > 0) total += probabilities[i] * Math.log2(probabilities[i]);
    }
    return -total;
  }

  /* Name and value of `fact=value`; the value is empty where there is none. */
  function parted(id) {
    var at = id.indexOf("=");
    return at < 0 ? [id, ""] : [id.slice(0, at), id.slice(at + 1)];
  }

  /* The table of likelihoods, unpacked. */
  distkb.likelihood = data => {
    var constants = data.constants;
    var kinds = new Map(), facts = new Map(), names = [], stating = new Map(), distributions = new Map();

    data.observations.forEach(one => {
      names.push(one[0]);
      kinds.set(one[0], {
        role: data.roles[one[1]], background: one[2], group: one[4] || null, yieldsTo: one[5] || null,
        inLogs: (one[3] & IN_LOGS) > 0, isSignature: (one[3] & IS_SIGNATURE) > 0,
        fromLauncher: (one[3] & FROM_LAUNCHER) > 0, ending: (one[3] & ENDING) > 0,
        silent: (one[3] & SILENT) > 0, definite: (one[3] & DEFINITE) > 0, settles: (one[3] & SETTLES) > 0, experiment: false,
        excludes: one[6] || [], refutedBy: one[7] || []
      });
    });
    data.facts.forEach(fact => {
      fact[1].forEach(value => { names.push(fact[0] + "=" + value[0]); });
      facts.set(fact[0], {
        id: fact[0], multi: fact[2] === 1, seconds: fact[3], when: fact[4], answeredBy: fact[5],
        values: fact[1].map(value => { return { value: value[0], share: value[1] }; })
      });
    });
    kinds.forEach(kind => {
      kind.excludes = kind.excludes.map(number => names[number]);
      kind.refutedBy = kind.refutedBy.map(number => names[number]);
    });

    var fixes = new Map();
    var hypotheses = data.causes.map((cause, number) => {
      var made = {
        number: number, id: cause[0], entry: data.entries[cause[1]], prior: cause[2],
        stated: new Map(), pointing: new Set(), settling: new Set(), fixes: []
      };
      for (var i = 0; i < cause[3].length; i += 2) {
        var name = names[cause[3][i]], level = cause[3][i + 1];
        if (level & constants.pointing) made.pointing.add(name);
        if (level & constants.settling) made.settling.add(name);
        made.stated.set(name, data.levels[level % constants.pointing]);
      }
      cause[4].forEach(fix => {
        var one = {
          id: cause[0] + "." + fix[0], number: fixes.size, cause: number, works: data.levels[fix[1]], seconds: fix[2],
          cost: fix[3], risk: fix[4], workaround: fix[5] === 1
        };
        made.fixes.push(one);
        fixes.set(one.id, one);
        made.stated.set("fix." + one.id, one.works);
        kinds.set("fix." + one.id, {
          role: "context", background: constants.helpsAnyway, group: null, yieldsTo: null,
          inLogs: false, isSignature: false, fromLauncher: false, ending: false,
          silent: false, definite: false, settles: false, experiment: true, excludes: [], refutedBy: []
        });
      });
      return made;
    });
    hypotheses.push({
      number: hypotheses.length, id: constants.other, entry: null, prior: data.otherPrior,
      stated: new Map(), pointing: new Set(), settling: new Set(), fixes: []
    });
    hypotheses.forEach((h, number) => {
      h.stated.forEach((_, name) => {
        if (!stating.has(name)) stating.set(name, []);
        stating.get(name).push(number);
      });
    });

    function knows(id) {
      if (kinds.has(id)) return true;
      var pair = parted(id), fact = facts.get(pair[0]);
      return id.includes("=") && !!fact && fact.values.some(v => v.value === pair[1]);
    }

    function background(id) {
      var kind = kinds.get(id);
      if (kind) return kind.background;
      var pair = parted(id);
      var value = facts.get(pair[0]).values.find(v => v.value === pair[1]);
      return value ? value.share : constants.floor;
    }

    /* `never` says that the cause is ruled out, also where hardly any other failure prints it either. */
    function probability(id, hypothesis) {
      var stated = hypothesis.stated.get(id), usual = kinds.get(id).background;
      if (stated === undefined) return usual;
      return stated <= data.levels[data.levels.length - 1] ? Math.min(stated, constants.ruledOut * usual) : stated;
    }

    /* P(value) of every value of a fact, given what a cause states of it. */
    function distribute(fact, stated) {
      var given = fact.values.map(v => stated.get(fact.id + "=" + v.value));
      var open = 0, told = 0;
      fact.values.forEach((v, i) => {
        if (given[i] === undefined) open += v.share;
        else told += given[i];
      });
      var left = Math.max(0, 1 - told);
      var raw = fact.values.map((v, i) => {
        return Math.max(constants.floor, given[i] === undefined ? left * v.share / open : given[i]);
      });
      var total = sum(raw);
      return raw.map(p => p / total);
    }

    function distribution(name, hypothesis) {
      var key = name + " " + hypothesis.number;
      if (!distributions.has(key)) distributions.set(key, distribute(facts.get(name), hypothesis.stated));
      return distributions.get(key);
    }

    function chanceOf(id, hypothesis) {
      var pair = parted(id), values = facts.get(pair[0]).values;
      return distribution(pair[0], hypothesis)[values.findIndex(v => v.value === pair[1])];
    }

    return {
      constants: constants, kinds: kinds, facts: facts, fixes: fixes, hypotheses: hypotheses, knows: knows,
      isEcho: id => (kinds.get(id) || {}).role === "collateral", background: background, probability: probability, distribution: distribution, chanceOf: chanceOf,
      usual: name => distribute(facts.get(name), new Map()),
      stating: id => stating.get(id) || []
    };
  };

  /* Posterior over all hypotheses of the table, in its order, and what moved each of them, strongest first. */
  distkb.believe = (table, evidence) => {
    var constants = table.constants, kinds = table.kinds;
    var known = unabsorbed(evidence.observations.filter(o => table.knows(o.id)));
    var certainty = certainties();
    var strongest = strongestPrimary();
    var silence = silences();

    /* What another observation says more exactly, or shows not to have happened, is left out. */
    function unabsorbed(observations) {
      var groups = new Set(), present = new Set(observations.filter(o => o.present).map(o => o.id));
      observations.forEach(o => { if (o.present && kinds.has(o.id)) groups.add(kinds.get(o.id).group); });
      groups.delete(null);
      return observations.filter(o => {
        var kind = kinds.get(o.id);
        return !kind || !(groups.has(kind.yieldsTo) || kind.refutedBy.some(id => present.has(id)) ||
          (!o.present && groups.has(kind.group)));
      });
    }

    /* Later primary errors on other ranks lose some of their weight. */
    function certainties() {
      var timed = known.filter(o => {
        var kind = kinds.get(o.id), first = o.quotes && o.quotes[0];
        return o.present && kind && kind.role === "primary" && first && isNumber(first.time) && isNumber(first.rank);
      });
      var first = null, found = new Map();
      timed.forEach(o => { if (!first || o.quotes[0].time < first.time) first = o.quotes[0]; });
      known.forEach(o => { found.set(o.id, o.certainty); });
      timed.forEach(o => {
        var late = o.quotes[0].time > first.time && o.quotes.every(q => q.rank !== first.rank);
        if (late) found.set(o.id, o.certainty * constants.later);
      });
      return found;
    }

    function isNumber(value) { return typeof value === "number"; }

    /* Log ratio of the observation's probability under the hypothesis and at its background rate. */
    function weigh(h, o) {
      if (kinds.has(o.id)) {
        if (!o.present && h.pointing.has(o.id)) return 0;
        var p = table.probability(o.id, h), usual = table.background(o.id);
        if (!o.present) return Math.log((1 - p) / (1 - usual));
        var quoted = p > usual && o.source === "report" && kinds.get(o.id).isSignature;
        return Math.log(p / (quoted ? constants.reportBackground * usual : usual));
      }
      var chance = table.chanceOf(o.id, h), rate = table.background(o.id);
      if (o.source === "answer") {
        var mistake = constants.mistake, slip = mistake / table.facts.get(parted(o.id)[0]).values.length;
        chance = (1 - mistake) * chance + slip;
        rate = (1 - mistake) * rate + slip;
      }
      return Math.log(chance / rate);
    }

    function strongestPrimary() {
      var best = null;
      known.forEach(o => {
        var kind = kinds.get(o.id);
        if (!o.present || !kind || !kind.isSignature || kind.role !== "primary") return;
        table.hypotheses.forEach(h => {
          var weight = certainty.get(o.id) * weigh(h, o);
          if (best === null || weight > best) best = weight;
        });
      });
      return best;
    }

    /* Of the observations of one group keep the one that moves the cause most, towards it if any does. */
    function oncePerGroup(weighed) {
      var alone = [], groups = new Map();
      weighed.forEach(item => {
        var kind = kinds.get(item.observation.id);
        if (!kind || !kind.group || !item.observation.present) {
          alone.push(item);
          return;
        }
        var held = groups.get(kind.group);
        if (!held || item.weight > held.weight) groups.set(kind.group, item);
      });
      return alone.concat(Array.from(groups.values()));
    }

    /* Each further signature for the cause counts a share of the one before it; findings that point, too. */
    function fadeRepeats(h, weighed) {
      var shares = { signature: 1, pointing: 1 };
      var sorted = weighed.slice().sort((a, b) => {
        return b.weight - a.weight || (a.observation.id < b.observation.id ? -1 : 1);
      });
      return sorted.map(item => {
        var kind = kinds.get(item.observation.id);
        var origin = kind && kind.isSignature ? "signature" : h.pointing.has(item.observation.id) ? "pointing" : null;
        if (!origin || item.weight <= 0) return item;
        var faded = { observation: item.observation, weight: item.weight * shares[origin] };
        shares[origin] *= constants.repeat;
        return faded;
      });
    }

    /* The echoes together stay below their share of the strongest primary error. */
    function capEchoes(weighed) {
      function isEcho(item) {
        var kind = kinds.get(item.observation.id);
        return !!kind && kind.role === "collateral";
      }
      var total = Math.abs(sum(weighed.filter(isEcho).map(item => item.weight)));
      var limit = strongest === null ? Infinity : constants.echoShare * Math.max(strongest, 0);
      if (total <= limit) return weighed;
      return weighed.map(item => {
        return isEcho(item) ? { observation: item.observation, weight: item.weight * (limit / total) } : item;
      });
    }

    /* What was seen, for the messages that were not: how far their absence counts. */
    function silences() {
      var seen = new Set();
      known.forEach(o => { if (o.present) seen.add(o.id); });
      var reported = known.some(o => o.source === "report");
      var logs = evidence.logCoverage || 0;
      return {
        seen: seen, logs: logs, coverage: Math.max(logs, reported ? constants.reportSilence : 0),
        launcher: Array.from(seen).some(id => kinds.has(id) && kinds.get(id).fromLauncher)
      };
    }

    /* Log weight of the messages that the cause usually prints and that were not seen. Never positive. */
    function silenceOf(h) {
      if (!h.entry || silence.coverage === 0) return 0;
      var most = 0, any = false, shown = false, weight = 0, missing = 0;
      h.stated.forEach((p, id) => {
        var kind = kinds.get(id);
        if (!kind || !kind.inLogs) return;
        if (kind.isSignature) {
          if (kind.role !== "primary" || (kind.fromLauncher && !silence.launcher)) return;
          any = true;
          most = Math.max(most, p);
          shown = shown || silence.seen.has(id);
        } else if (!silence.seen.has(id) && p > kind.background) {
          missing += Math.log(1 - silence.logs * constants.findingRecall * (p - kind.background));
        }
      });
      if (any && !shown) weight += Math.log(1 - silence.coverage * most);
      return weight + missing;
    }

    /* A fix that was tried, the answer to a question, or an error in the code repeats nothing that was read. */
    function standsAlone(o) {
      var kind = kinds.get(o.id);
      return o.source === "answer" || (!!kind && (kind.experiment || kind.settles));
    }

    function settles(h, item) {
      return item.weight > 0 && item.observation.present && h.settling.has(item.observation.id);
    }

    /* A person's word, or that the run failed in another way, speaks against an error that was found too. */
    function countsAgainst(item) {
      var o = item.observation, kind = kinds.get(o.id), told = [o.id].concat(kind ? kind.excludes : []);
      return o.source === "answer" || o.source === "report" || told.some(id => id.startsWith(constants.symptom + "="));
    }

    var decided = known.some(o => o.present && kinds.has(o.id) && kinds.get(o.id).background < constants.rare);
    var ofWords = constants.likeness * (strongest !== null || decided ? constants.beside : 1), contributions = [], unworded = [];
    var scores = table.hypotheses.map(h => {
      var raw = known.map(o => { return { observation: o, weight: certainty.get(o.id) * weigh(h, o) }; });
      var moved = capEchoes(fadeRepeats(h, oncePerGroup(raw)));
      var settled = moved.some(item => settles(h, item)), separate = 0, read = 0;
      if (settled) moved = moved.filter(item => item.weight > 0 || countsAgainst(item));
      moved.forEach(item => {
        read += item.weight;
        if (standsAlone(item.observation)) separate += item.weight;
      });
      var fits = evidence.likeness || {}, likeness = ofWords * ((fits[h.entry] || 0) + (fits[h.id] || 0));
      var affinity = h.entry && evidence.affinity ? constants.affinity * (evidence.affinity[h.entry] || 0) : 0;
      if (evidence.unexplained && affinity >= constants.close) {
        var alike = { id: constants.resembles, source: "log", present: true, certainty: 1, quotes: [evidence.unexplained] };
        moved = moved.concat([{ observation: alike, weight: affinity }]);
      }
      if (likeness >= constants.close) {
        var worded = { id: constants.wordedAlike, source: "log", present: true, certainty: 1, quotes: [] };
        moved = moved.concat([{ observation: worded, weight: likeness }]);
      }
      contributions.push(moved.filter(item => Math.abs(item.weight) >= 0.05)
        .sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight)));
      read += (settled ? 0 : silenceOf(h)) + affinity - separate;
      unworded.push(Math.log(h.prior || 1e-12) + read / constants.temperature + separate);
      return unworded[unworded.length - 1] + likeness / constants.temperature;
    });
    return { posterior: normalised(scores), contributions: contributions, unworded: normalised(unworded) };
  };

  /* Causes grouped by entry, the most probable entry first; the verdict as `distkb diagnose` words it. */
  distkb.conclude = (table, belief, evidence) => {
    var constants = table.constants, kinds = table.kinds, totals = new Map();
    var causes = table.hypotheses.filter(h => h.entry).map(h => {
      var p = belief.posterior[h.number];
      totals.set(h.entry, (totals.get(h.entry) || 0) + p);
      return { cause: h, probability: p, evidence: belief.contributions[h.number] };
    });
    causes.sort((a, b) => {
      if (a.cause.entry !== b.cause.entry) {
        return totals.get(b.cause.entry) - totals.get(a.cause.entry) || (a.cause.entry < b.cause.entry ? -1 : 1);
      }
      return b.probability - a.probability || (a.cause.id < b.cause.id ? -1 : 1);
    });
    var entries = [];
    causes.forEach(ranked => {
      var last = entries[entries.length - 1];
      if (!last || last.id !== ranked.cause.entry) {
        last = { id: ranked.cause.entry, probability: 0, causes: [] };
        entries.push(last);
      }
      last.probability += ranked.probability;
      last.causes.push(ranked);
    });
    var other = belief.posterior[belief.posterior.length - 1];

    /* How a run is set up does not say that something went wrong, nor does what is absent. */
    function tells(o) {
      var kind = kinds.get(o.id);
      if (!o.present) return false;
      if (!kind) return table.knows(o.id) && o.source !== "log" && o.source !== "probe";
      if (kind.ending) return true;
      if (kind.silent || !kind.isSignature) return !kind.silent;
      return kind.role !== "context" || (o.source === "log" && !kind.inLogs);
    }

    function putsForward(o) {
      var kind = kinds.get(o.id);
      return Boolean(kind && o.present && kind.background < constants.common) || tells(o);
    }

    function byEntry(posterior) {
      var totals = new Map();
      table.hypotheses.forEach((h, n) => totals.set(h.entry, (totals.get(h.entry) || 0) + posterior[n]));
      return totals;
    }

    /* Whether the first entry is stated as the cause: by itself, or since nothing comes near it. */
    function isClear(posterior) {
      var totals = byEntry(posterior), total = totals.get(entries[0].id);
      totals.delete(entries[0].id);
      return total >= constants.named ||
        (total >= constants.clear && total >= constants.lead * Math.max(0, ...totals.values()));
    }

    function verdict() {
      var worded = evidence.affinity && Object.keys(evidence.affinity).length > 0;
      if (!worded && !evidence.observations.some(tells)) return "no-evidence";
      if (!entries.length) return "unknown";
      var total = entries[0].probability;
      var own = entries[0].causes[0].evidence
        .filter(c => c.weight >= constants.fits && c.observation.present && kinds.has(c.observation.id))
        .map(c => ({ kind: kinds.get(c.observation.id), told: c.observation.source === "report" }));
      if (other >= total) return own.some(one => one.kind.definite) ? "undecided" : "unknown";
      var isDescribed = one => one.told && (one.kind.role === "context" || !one.kind.inLogs);
      var printed = own.some(one => (one.kind.role === "primary" || one.kind.role === "context") && !isDescribed(one));
      var shown = printed || own.filter(isDescribed).length >= constants.several;
      var clear = isClear(belief.posterior) && isClear(belief.unworded);
      var otherwise = entries[0].causes[0].evidence
        .some(c => c.observation.id.startsWith(constants.symptom + "=") && c.weight <= -constants.otherwise);
      if (clear && shown && !otherwise && entries[0].causes[0].probability >= constants.main * total) return "named";
      var forward = worded || entries[0].causes[0].evidence.some(c => c.weight > 0 && putsForward(c.observation));
      forward = forward && byEntry(belief.unworded).get(entries[0].id) >= constants.unworded;
      return forward && total >= constants.leading ? "leading" : "undecided";
    }

    return { entries: entries, other: other, verdict: verdict() };
  };

  distkb.parted = parted;
  distkb.sum = sum;
  distkb.entropy = entropy;
})();
