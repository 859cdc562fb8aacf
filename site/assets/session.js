/* A session: what was read, answered, tried, and from it the next move: distkb.diagnosis.session, .known and .propose.
   A session is a list of events and nothing else; everything shown is computed from it. */
(() => {
  "use strict";
  var distkb = window.distkb = window.distkb || {};
  var parted = distkb.parted, sum = distkb.sum, entropy = distkb.entropy;

  /* ---- which events count ---- */

  function stacks(events) {
    var stack = [], undone = [];
    events.forEach((event, number) => {
      if (event.type === "Undone") {
        if (stack.length) undone.push(stack.pop());
      } else if (event.type === "Redone") {
        if (undone.length) stack.push(undone.pop());
      } else {
        stack.push(number);
        undone = [];
      }
    });
    return { stack: stack, undone: undone };
  }

  /* What an event is about: of several events about the same thing the last one counts. */
  function subject(event) {
    switch (event.type) {
      case "answered":
      case "dont-know": return ["question", event.question].concat(event.offered || []).join("\n");
      case "evidence-added": return "evidence\n" + event.label;
      case "fix-tried": return "fix\n" + event.fix;
      default: return "step\n" + event.step;
    }
  }

  /* Numbers of the events that still count: not undone, not withdrawn and not replaced. */
  function standing(events) {
    var stack = stacks(events).stack, withdrawn = new Set(), latest = new Map();
    stack.slice().reverse().forEach(number => {
      if (events[number].type === "withdrawn" && !withdrawn.has(number)) withdrawn.add(events[number].number);
    });
    var kept = stack.filter(n => !withdrawn.has(n) && events[n].type !== "withdrawn");
    kept.forEach(n => { latest.set(subject(events[n]), n); });
    return kept.filter(n => latest.get(subject(events[n])) === n);
  }

  /* ---- sorting as Python does ---- */

  function compare(a, b) { return a < b ? -1 : a > b ? 1 : 0; }

  /* Numbers of the largest values, the largest first; of equals the first. */
  function largest(values, count) {
    return values.map((_, i) => i)
      .sort((a, b) => values[b] - values[a] || a - b).slice(0, count);
  }

  distkb.session = (table, data) => {
    var constants = table.constants, kinds = table.kinds, hypotheses = table.hypotheses;
    var implies = new Map(data.implies.map(one => [data.observations[one[0]][0], one[1]]));
    var lines = data.lines.map(one => { return { id: data.observations[one[0]][0], example: one[1] }; });
    var steps = data.steps.map((step, number) => {
      return { number: number, id: step[0], kind: step[1], seconds: step[2], reveals: step[3], commands: step[4] };
    });
    var failures = lines.map(line => line.id).filter(id => {
      return kinds.get(id).role === "primary" && kinds.get(id).background <= constants.clearBackground;
    });
    var examples = new Map(lines.map(line => [line.id, line.example]));

    /* ---- what the standing events amount to ---- */

    function shownBy(event) {
      switch (event.type) {
        case "answered":
          if (event.offered && event.offered.length) return event.offered.map(line);
          return event.values.map(fact);
        case "evidence-added": return event.evidence.observations;
        case "probe-result": return event.observations.concat(missing());
        case "fix-tried":
          if (event.outcome === "could-not-try") return [];
          return [observation("fix." + event.fix, "answer", { present: event.outcome === "helped" })];
        default: return [];
      }
      function line(id) {
        return observation(id, "answer", { certainty: constants.lineCertainty, present: event.values.includes(id) });
      }
      function fact(value) {
        var id = event.question + "=" + value;
        return observation(id, "answer", { certainty: 1 / Math.max(1, event.values.length), quotes: [{ text: id }] });
      }
      function missing() {
        var found = new Set(event.observations.map(o => o.id));
        return event.clear.filter(id => !found.has(id))
          .map(id => { return observation(id, "probe", { present: false }); });
      }
    }

    function observation(id, source, more) {
      return Object.assign({ id: id, source: source, present: true, certainty: 1, quotes: [], count: 1 }, more);
    }

    /* Of two observations of one thing: seeing before not seeing, a quoted line before a word, the surer first. */
    function outranks(a, b) {
      var x = [a.present, a.quotes.length > 0, a.certainty], y = [b.present, b.quotes.length > 0, b.certainty];
      for (var i = 0; i < 3; i++) if (x[i] !== y[i]) return x[i] > y[i];
      return true;
    }

    /* Facts that answers and probes imply; where they imply different values of one fact, none. */
    function implied(observations) {
      var knownFacts = new Set(), said = new Map();
      observations.forEach(o => { if (o.id.includes("=")) knownFacts.add(parted(o.id)[0]); });
      observations.forEach(o => {
        if (!o.present || (o.source !== "answer" && o.source !== "probe")) return;
        (implies.get(o.id) || []).forEach(fact => {
          var name = parted(fact)[0];
          if (!said.has(name)) said.set(name, new Set());
          said.get(name).add(fact);
        });
      });
      return Array.from(said.keys()).sort(compare).filter(name => {
        return said.get(name).size === 1 && !knownFacts.has(name);
      }).map(name => {
        return observation(said.get(name).values().next().value, "probe", { certainty: constants.implied });
      });
    }

    /* The mean of several descriptions' affinities: telling it twice makes nothing surer. */
    function meanAffinity(all) {
      var mean = {};
      all.forEach(one => {
        Object.keys(one).forEach(id => { mean[id] = 0; });
      });
      Object.keys(mean).forEach(id => {
        mean[id] = sum(all.map(one => one[id] || 0)) / all.length;
      });
      return mean;
    }

    function gather(events) {
      var answered = new Set(), facts = new Set(), offered = new Set(), taken = new Set(), fixes = new Map();
      var best = new Map(), read = [];
      events.forEach(event => {
        var asked = event.type === "answered" || event.type === "dont-know";
        if (asked && !(event.offered && event.offered.length)) {
          facts.add(event.question);
          if (event.type === "answered") answered.add(event.question);
        }
        if (asked) (event.offered || []).forEach(offered.add, offered);
        if (event.step) taken.add(event.step);
        if (event.type === "fix-tried") fixes.set(event.fix, event.outcome);
        if (event.type === "evidence-added") read.push(event.evidence);
      });
      events.forEach(event => {
        shownBy(event).forEach(o => {
          var guessed = o.id.includes("=") && o.source !== "answer" && o.source !== "fact";
          if (guessed && answered.has(parted(o.id)[0])) return;
          var held = best.get(o.id);
          if (!held || outranks(o, held)) best.set(o.id, o);
        });
      });
      var observations = Array.from(best.values());
      var worded = read.filter(e => Object.keys(e.affinity || {}).length > 0);
      var errors = worded.map(e => e.unexplained || null);
      return {
        facts: facts, lines: offered, steps: taken, fixes: fixes,
        evidence: {
          observations: observations.concat(implied(observations)), affinity: meanAffinity(worded.map(e => e.affinity)),
          likeness: meanAffinity(read.map(e => e.likeness || {}).filter(one => Object.keys(one).length > 0)),
          unexplained: errors.length && errors.every(Boolean) ? errors[0] : null,
          logCoverage: Math.max.apply(null, [0].concat(read.map(e => e.logCoverage || 0))),
          holdsOutput: read.some(e => e.holdsOutput)
        }
      };
    }

    /* ---- how much a step would tell ---- */

    var rows = new Map();

    function pack(outcomes, base, who, chances, mistake) {
      var spread = mistake / outcomes.length;
      function slip(p) { return (1 - mistake) * p + spread; }
      base = base.map(slip);
      chances = chances.map(row => row.map(slip));
      var usual = entropy(base);
      return {
        outcomes: outcomes, base: base, baseEntropy: usual, who: who,
        shifts: outcomes.map((_, k) => chances.map(row => row[k] - base[k])),
        entropyShifts: chances.map(row => entropy(row) - usual)
      };
    }

    /* Several observations as exclusive outcomes: each of them, and none. */
    function exclusive(shown) {
      var none = 1;
      shown.forEach(p => { none *= 1 - p; });
      var total = sum(shown) + none;
      return shown.map(p => p / total).concat([none / total]);
    }

    function concerned(ids) {
      var found = new Set();
      ids.forEach(id => { table.stating(id).forEach(found.add, found); });
      return Array.from(found).sort((a, b) => a - b);
    }

    /* The probabilities of some values of a fact where it is known to be one of them. */
    function among(fact, values, distribution) {
      var open = distribution.filter((_, i) => values.includes(fact.values[i].value)), total = sum(open);
      return open.map(p => p / total);
    }

    function makeRow(reveals, mistake, values) {
      var fact = reveals.length === 1 ? table.facts.get(reveals[0]) : undefined, who;
      if (fact) {
        var names = values || fact.values.map(v => v.value);
        who = concerned(names.map(value => fact.id + "=" + value));
        return pack(names, among(fact, names, table.usual(fact.id)), who, who.map(i => {
          return among(fact, names, table.distribution(fact.id, hypotheses[i]));
        }), mistake);
      }
      var known = reveals.filter(table.knows), base = known.map(table.background);
      who = concerned(known);
      var chances = who.map(i => {
        return exclusive(known.map(id => {
          return kinds.has(id) ? table.probability(id, hypotheses[i]) : table.chanceOf(id, hypotheses[i]);
        }));
      });
      return pack(known.concat([""]), exclusive(base), who, chances, mistake);
    }

    function row(reveals, mistake, values) {
      var key = mistake + " " + reveals.join(" ") + (values ? " " + values.join(" ") : "");
      if (!rows.has(key)) rows.set(key, makeRow(reveals, mistake, values));
      return rows.get(key);
    }

    function predicted(one, belief) {
      return one.base.map((base, k) => {
        var total = 0;
        for (var i = 0; i < one.who.length; i++) total += belief[one.who[i]] * one.shifts[k][i];
        return base + total;
      });
    }

    function gainBits(one, belief) {
      if (!one.who.length) return 0;
      var total = 0;
      for (var i = 0; i < one.who.length; i++) total += belief[one.who[i]] * one.entropyShifts[i];
      return Math.max(0, entropy(predicted(one, belief)) - (one.baseEntropy + total));
    }

    /* For every outcome its probability under each of these hypotheses. */
    function chancesOf(one, numbers) {
      var places = new Map(one.who.map((number, place) => [number, place]));
      return one.base.map((base, k) => {
        return numbers.map(number => {
          var place = places.get(number);
          return place === undefined ? base : base + one.shifts[k][place];
        });
      });
    }

    /* ---- what can be asked ---- */

    /* Names under which observations are known: their ids, and for `fact=value` also the fact. */
    function knownNames(ids) {
      var found = new Set(ids);
      ids.forEach(id => { if (id.includes("=")) found.add(parted(id)[0]); });
      return found;
    }

    /* The values of facts that something observed leaves no room for. */
    function excludedBy(observed) {
      var found = new Set();
      observed.forEach(id => { if (table.kinds.has(id)) table.kinds.get(id).excludes.forEach(found.add, found); });
      return found;
    }

    function presumed(belief, presupposes, observed, excluded) {
      var when = presupposes.filter(key => !excluded.has(key));
      if (!presupposes.length || when.some(key => observed.has(key))) return true;
      var wanted = new Map(), settled = knownNames(Array.from(observed));
      when.forEach(key => {
        var pair = parted(key);
        wanted.set(pair[0], (wanted.get(pair[0]) || []).concat([pair[1]]));
      });
      return Array.from(wanted.keys()).some(name => {
        if (settled.has(name)) return false;
        var one = row([name], 0), likely = 0;
        predicted(one, belief).forEach((p, k) => {
          if (wanted.get(name).includes(one.outcomes[k])) likely += p;
        });
        return likely >= constants.presumed;
      });
    }

    function factQuestion(fact, left) {
      return {
        id: fact.id, kind: "fact", multi: fact.multi, seconds: fact.seconds,
        options: left.map(value => { return { value: value }; })
      };
    }

    function linesQuestion(ids) {
      return {
        id: constants.lines, kind: "lines", multi: true, seconds: constants.linesSeconds,
        options: ids.map(id => { return { value: id, example: examples.get(id) }; })
      };
    }

    function asked(question, one, belief) {
      var gain = gainBits(one, belief);
      if (gain < constants.leastGainBits) return [];
      return [{
        move: { type: "ask", question: question, gainBits: gain, seconds: question.seconds }, row: one,
        name: question.id, rate: gain / Math.sqrt(question.seconds + constants.attention)
      }];
    }

    function candidates(known, belief) {
      var observed = new Set(), all = [], found = [], told = new Map();
      known.evidence.observations.forEach(o => {
        all.push(o.id);
        if (o.present) observed.add(o.id);
      });
      var seen = knownNames(all), held = new Set(observed), excluded = excludedBy(observed);
      observed.forEach(id => {
        var kind = table.kinds.get(id);
        if (kind && kind.group) held.add(kind.group);
      });
      table.facts.forEach((fact, name) => {
        if (known.facts.has(name) || seen.has(name) || fact.answeredBy.some(id => held.has(id))) return;
        var left = fact.values.map(v => v.value).filter(value => !excluded.has(name + "=" + value));
        if (left.length < 2 || !presumed(belief, fact.when, observed, excluded)) return;
        found = found.concat(asked(factQuestion(fact, left), row([name], constants.mistake, left), belief));
      });
      lines.forEach(line => {
        if (!seen.has(line.id)) told.set(line.id, gainBits(row([line.id], constants.mistake), belief));
      });
      var offered = offer(known, told, belief);
      if (offered.length) {
        found = found.concat(asked(linesQuestion(offered), row(offered, constants.mistake), belief));
      }
      steps.forEach(step => {
        var open = stillOpen(step, known, seen, told);
        if (!open.length) return;
        var one = row(open, constants.misread), gain = gainBits(one, belief);
        if (gain < constants.leastGainBits) return;
        found.push({
          move: { type: "take", step: step, gainBits: gain, seconds: step.seconds }, row: one, name: step.id,
          rate: gain / Math.sqrt(step.seconds + constants.attention)
        });
      });
      return found;
    }

    /* What a step would still show; nothing where it was taken or shows hardly anything new. */
    function stillOpen(step, known, seen, told) {
      const given = known.evidence.holdsOutput || known.evidence.logCoverage > 0;
      if (known.steps.has(step.id) || (step.id === constants.output && given)) return [];
      var reveals = step.id === constants.output ? failures : step.reveals;
      var open = reveals.filter(id => !seen.has(id));
      if (open.length < reveals.length / 2) return [];
      if (open.length <= constants.revealsCompared) return open;
      return open.sort((a, b) => {
        return (told.get(b) || 0) - (told.get(a) || 0) || compare(a, b);
      }).slice(0, constants.revealsCompared).sort(compare);
    }

    /* The lines to offer together: each tells much, and they tell different things. */
    function offer(known, told, belief) {
      if (known.evidence.holdsOutput || known.evidence.logCoverage >= 0.5) return [];
      var groups = new Set();
      known.evidence.observations.forEach(o => {
        var kind = kinds.get(o.id);
        if (kind && kind.isSignature && kind.group) groups.add(kind.group);
      });
      var names = Array.from(told.keys()).filter(id => {
        return told.get(id) >= constants.leastGainBits / 4 && !known.lines.has(id) && !groups.has(kinds.get(id).group);
      });
      names.sort((a, b) => told.get(b) - told.get(a) || compare(a, b));
      return spread(names.slice(0, constants.linesCompared), belief);
    }

    /* Choose lines one by one, each time the one that speaks for the most belief not spoken for yet. */
    function spread(names, belief) {
      var chosen = [], groups = new Set(), left = belief.slice();
      while (chosen.length < constants.linesOffered) {
        var most = 0, name = "";
        names.forEach(id => {
          if (chosen.includes(id) || groups.has(kinds.get(id).group)) return;
          var spoken = spokenFor(id, left);
          if (spoken > most || (spoken === most && id > name) || !name) {
            most = spoken;
            name = id;
          }
        });
        if (!name || most <= constants.leastSpoken) break;
        chosen.push(name);
        if (kinds.get(name).group) groups.add(kinds.get(name).group);
        take(row([name], constants.mistake), left);
      }
      return chosen;
    }

    function take(one, left) {
      one.who.forEach((number, place) => {
        left[number] *= 1 - Math.max(0, one.base[0] + one.shifts[0][place]);
      });
    }

    function spokenFor(id, left) {
      var one = row([id], constants.mistake), total = 0;
      one.who.forEach((number, place) => { total += left[number] * Math.max(0, one.shifts[0][place]); });
      return total;
    }

    /* ---- what it still costs to get the run going ---- */

    /* For each of the most probable causes the first of its fixes that was not tried yet. */
    function repairPlan(belief, tried) {
      var repairs = [];
      largest(belief, constants.considered).forEach(number => {
        var fix = hypotheses[number].fixes.find(one => !tried.has(one.id));
        if (fix) repairs.push({ hypothesis: number, fix: fix, works: fix.works, seconds: fix.seconds });
      });
      return repairs;
    }

    function expectedCost(repairs, masses, total) {
      var order = [];
      repairs.forEach((r, i) => { if (masses[i] > 0) order.push([masses[i] * r.works, r.seconds]); });
      order.sort((a, b) => a[1] / a[0] - b[1] / b[0]);
      var spent = 0, left = total;
      for (var i = 0; i < order.length; i++) {
        if (order[i][1] * left >= order[i][0] * constants.giveUp) break;
        spent += order[i][1] * left;
        left -= order[i][0];
      }
      return spent + constants.giveUp * Math.max(0, left);
    }

    function multiply(a, b) { return a.map((x, i) => x * b[i]); }

    /* Whether some outcome of a step changes the order of the most probable causes. */
    function canChangeOrder(one, belief) {
      var leaders = largest(belief, constants.considered);
      var held = leaders.map(number => belief[number]);
      return chancesOf(one, leaders).some(chances => {
        return largest(multiply(held, chances), constants.ordered).some((index, place) => {
          return index !== place;
        });
      });
    }

    /* The expected cost of repair once the step is taken, the step included. */
    function costAfter(candidate, plan, belief) {
      var numbers = plan.map(r => r.hypothesis);
      var rest = numbers.map(number => belief[number]), held = rest;
      var chances = chancesOf(candidate.row, numbers), likely = predicted(candidate.row, belief);
      var common = largest(likely, constants.outcomesPlanned), after = 0, left = 1;
      common.forEach(k => {
        var masses = multiply(held, chances[k]);
        after += expectedCost(plan, masses, likely[k]);
        rest = rest.map((x, i) => x - masses[i]);
        left -= likely[k];
      });
      if (common.length < chances.length) after += expectedCost(plan, rest, left);
      return candidate.move.seconds + constants.attention + after;
    }

    /* The fixes worth proposing, the one with the most chance for its cost first. */
    function fixMoves(plan, belief) {
      function worth(r) { return belief[r.hypothesis] * r.works; }
      var likely = plan.filter(r => worth(r) >= constants.leastChance);
      likely.sort((a, b) => {
        return worth(b) / b.seconds - worth(a) / a.seconds || a.hypothesis - b.hypothesis;
      });
      return likely.map(r => {
        return { type: "try-fix", cause: hypotheses[r.hypothesis], fix: r.fix, chance: worth(r), seconds: r.seconds };
      });
    }

    /* The moves that make sense now, the best one first. */
    function propose(known, belief) {
      var ranked = candidates(known, belief).sort((a, b) => {
        return b.rate - a.rate || compare(a.name, b.name);
      });
      var useful = ranked.slice(0, constants.shortlist).filter(c => canChangeOrder(c.row, belief));
      var plan = repairPlan(belief, known.fixes);
      var now = expectedCost(plan, plan.map(r => belief[r.hypothesis]), 1);
      var saving = useful.filter(c => now - costAfter(c, plan, belief) > 0);
      var asking = saving.concat(useful.filter(c => !saving.includes(c)))
        .map(c => c.move);
      var fixes = fixMoves(plan, belief), few = constants.alternatives - 1;
      var moves = saving.length || !fixes.length
        ? asking.slice(0, few).concat(fixes.slice(0, 2), asking.slice(few))
        : fixes.slice(0, 2).concat(asking, fixes.slice(2));
      var lost = belief[belief.length - 1] >= constants.lost;
      if (lost && !saving.length) moves.unshift({ type: "nothing-fits" });
      moves = moves.slice(0, constants.alternatives + 1);
      return moves.length ? moves : [{ type: "nothing-fits" }];
    }

    /* The moves; the answer's fix before any other, and of a cause that is named before questions, unless it was tried. */
    function ordered(known, belief, answer) {
      var moves = propose(known, belief), first = moves.findIndex(move => move.type === "try-fix");
      var place = answer.verdict === "named" ? 0 : answer.verdict === "leading" ? first : -1;
      if (place < 0) return moves;
      var lead = answer.entries[0].causes[0].cause, fix = lead.fixes[0];
      if (!fix || known.fixes.has(fix.id)) return moves;
      var own = moves.find(move => move.type === "try-fix" && move.fix === fix) || {
        type: "try-fix", cause: lead, fix: fix, chance: belief[lead.number] * fix.works, seconds: fix.seconds
      };
      var rest = moves.filter(move => move !== own);
      return rest.slice(0, place).concat([own], rest.slice(place));
    }

    function nextMoves(known, belief, answer) {
      var helped = Array.from(known.fixes.keys()).find(id => {
        return known.fixes.get(id) === "helped" && table.fixes.has(id);
      });
      if (!helped) return ordered(known, belief, answer);
      var moves = propose(known, belief);
      var fix = table.fixes.get(helped);
      return [{ type: "done", fix: fix, cause: hypotheses[fix.cause] }].concat(moves);
    }

    /* All that is known and to be done after these events. */
    function view(events) {
      var counted = standing(events).map(n => events[n]), known = gather(counted);
      var belief = distkb.believe(table, known.evidence);
      var piled = stacks(events);
      var answer = distkb.conclude(table, belief, known.evidence);
      return {
        known: known, belief: belief, answer: answer,
        moves: nextMoves(known, belief.posterior, answer), events: counted,
        canUndo: piled.stack.length > 0, canRedo: piled.undone.length > 0
      };
    }

    return { view: view, steps: steps, lines: lines, standing: standing };
  };
})();
