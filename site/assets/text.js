/*
 * Reads text as the program does: tokens, glossary forms, typos, and how well entries answer words. The same rules as
 * assistant/distkb/search, which says why; the tests hold both to the same answers. Lists and numbers come from there,
 * with the index.
 *
 * The index is in parts. What a question needs and has not been loaded yet is noted in `index.missing` and counts as
 * unknown; `settled` loads it and asks again.
 */
var distkb = window.distkb = window.distkb || {};
distkb.text = (() => {
  "use strict";
  const CONCEPT = "§";
  const LINES = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;
  const CAMEL = /[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*|\d+[A-Za-z]*\d*/g;
  const loads = new Map(), lists = {}, numbers = {}, kinds = {}, digits = {};
  let opened = null, layout = [];

  /* Return a promise of a script that has run; each is loaded once, and again only after it failed. */
  function load(address) {
    if (!loads.has(address)) {
      loads.set(address, new Promise((done, failed) => {
        const script = document.createElement("script");
        script.src = address;
        script.onload = done;
        script.onerror = () => { script.remove(); failed(new Error(address)); };
        document.head.append(script);
      }));
      loads.get(address).catch(() => loads.delete(address));
    }
    return loads.get(address);
  }

  /* ---- Tokens (tokens.py) ---- */

  const cut = text => text.length > numbers.maxChars ? [...text].slice(0, numbers.maxChars).join("") : text;

  const normalise = text => cut(text).normalize("NFKC");

  function stem(word) {
    if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
    if (word.endsWith("ies") && word.length > 4) word = word.slice(0, -3) + "y";
    else if (/(?:sses|xes|ches|shes)$/.test(word)) word = word.slice(0, -2);
    else if (/(?:pu|[^sui])s$/.test(word)) word = word.slice(0, -1);
    const rest = word.replace(/(?:ing|ed)$/, "");
    if (rest !== word && rest.length >= 3 && !word.endsWith("eed") && /[aeiouy]/.test(rest)) {
      word = rest.length > 3 && /([^lsz])\1$/.test(rest) ? rest.slice(0, -1) : rest;
    }
    return word.length > 3 && word.endsWith("e") ? word.slice(0, -1) : word;
  }

  /* Return the pieces of a text; a token is a pair of its text and its kind. */
  function pieces(text) {
    const found = [];
    let end = 0, afterLatin = false;
    text = normalise(text);
    for (const match of text.matchAll(/([가-힣]+)|[A-Za-z0-9]+(?:(?:_+|-|\.|::)[A-Za-z0-9]+)*/g)) {
      const start = match.index, joined = found.length > 0 && /^[ \t\-/'"\x60]*$/.test(text.slice(end, start));
      let run = match[1];
      if (run) {
        if (afterLatin && start === end) run = unglue(run, text[start - 1]);
        if (run) found.push({ text: run, tokens: hangulTokens(run), atoms: [...run], hangul: true, joined });
      } else {
        const negative = text[start - 1] === "-" && !/[\p{L}\p{N})\]-]/u.test(text[start - 2] || "");
        found.push({ text: match[0], ...latin(match[0], negative), hangul: false, joined });
      }
      afterLatin = !match[1];
      end = start + match[0].length;
    }
    return found;
  }

  function unglue(run, before) {
    if (lists.particles.has(run)) return "";
    return /\d/.test(before) && lists.particles.has(run.slice(1)) ? run[0] : run;
  }

  function hangulTokens(run) {
    if (lists.stopHangul.has(run)) return [];
    if (run.length === 1) return [[run, "single"]];
    const pairs = [...run.slice(1)].map((syllable, n) => run[n] + syllable);
    return pairs.filter(pair => !lists.stopPairs.has(pair)).map(pair => [pair, "pair"]);
  }

  /* Return the tokens and the atoms of a chunk. */
  function latin(chunk, negative) {
    const number = chunk.replace(/^[vV](?=\d)/, ""), tokens = [];
    if (/^[\d.]+$/.test(number)) {
      tokens.push([number, "number"]);
      if (number.split(".").length === 3) tokens.push([number.slice(0, number.lastIndexOf(".")), "number"]);
      if (negative && number === chunk) tokens.push(["-" + number, "number"]);
      return { tokens, atoms: [number] };
    }
    const segments = chunk.split(/::|\./), split = segments.map(parts), all = split.flat();
    if (all.length > 1) {
      tokens.push([whole(chunk), "whole"]);
      segments.forEach((segment, n) => {
        if (segments.length > 1 && split[n].length > 1) tokens.push([whole(segment), "whole"]);
      });
    }
    for (const part of all) tokens.push(...partTokens(part, all.length > 1 ? "part" : "word"));
    return { tokens, atoms: all.map(part => stem(part.toLowerCase())) };
  }

  const whole = chunk => chunk.toLowerCase().replace(/::/g, ".").replace(/[-_]+/g, "_");

  const parts = segment => segment.split(/[-_]+/).flatMap(name => {
    if (/^[A-Z][A-Z\d]+s$/.test(name)) return [name.slice(0, -1)];
    const solid = lists.solid.has(name) || /^(?=\d*[a-z])[a-z\d]*$|^(?=\d*[A-Z])[A-Z\d]*$/.test(name);
    const camel = solid ? [name] : name.match(CAMEL) || [];
    return camel.some(isFragment) ? [name] : camel;
  });

  const isFragment = part =>
    part.replace(/\d+$/, "").length < 3 && !/^\d+$/.test(part) && !lists.stop.has(part.toLowerCase());

  function partTokens(part, kind) {
    const lower = part.toLowerCase(), [, number, letters, tail] = /^(\d*)(.*?)(\d*)$/.exec(lower);
    if (!letters) return [[lower, "number"]];
    if (lower.length === 1 || lists.stop.has(lower)) return [];
    const out = [[stem(lower), kind === "word" && lists.weak.has(lower) ? "weak" : kind]];
    if (number) out.push([number, "number"]);
    if (/^[a-z]+$/.test(letters)) {
      if (number && letters.length > 1) out.push([letters, "part"]);
      if (!number && tail && letters.length > 2) out.push([stem(letters), "part"]);
    }
    return out;
  }

  const writtenWords = text => (normalise(text).match(/[A-Za-z]+/g) || []).map(word => word.toLowerCase());

  /* ---- Words typed with the keyboard in the other mode (keyboard.py) ---- */

  function retyped(index, text) {
    return text.replace(/[^\s?!,;]+/g, word => {
      const jamo = /[ㄱ-ㅣ]/.test(word), lower = word.toLowerCase(), { length } = word;
      if (!jamo && (!/^[A-Za-z]+$/.test(word) || length < numbers.minKeys || length > numbers.maxKeys || lists.stop.has(lower)
        || lists.weak.has(lower) || term(index, stem(lower)) || index.missing.size)) return word;
      const other = jamo ? keysOf(word) : typedAsHangul(word);
      return other && (!jamo || other.length >= numbers.minLetters) && isKnown(index, other) ? other : word;
    });
  }

  function isKnown(index, text) {
    const found = pieces(text).filter(piece => piece.tokens.length), has = ([one]) => term(index, one);
    return found.length > 0 && found.every(({ hangul, tokens }) =>
      hangul ? 2 * tokens.filter(has).length > tokens.length : has(tokens[0]));
  }

  const keysOf = word => word.normalize("NFKD").replace(/[^\0-\x7f]/g, char =>
    layout.map(([first, keys]) => keys[char.charCodeAt(0) - first]).find(key => key) || char);

  function typedAsHangul(word) {
    const [lead, vowel, tail] = layout.map(([, keys]) => [...keys].sort((a, b) => b.length - a.length).join("|"));
    const syllable = new RegExp(`(${lead})(${vowel})(?:(${tail})(?!${vowel}))?`, "y");
    const typed = word.replace(/[A-Z]/g, key => layout.some(([, keys]) => keys.includes(key)) ? key : key.toLowerCase());
    let out = "", match;
    while (syllable.lastIndex < typed.length && (match = syllable.exec(typed))) {
      layout.forEach(([first, keys], n) => { if (match[n + 1]) out += String.fromCharCode(first + keys.indexOf(match[n + 1])); });
    }
    return match ? out.normalize("NFC") : null;
  }

  /* ---- The index (docsite/data/search.py) ---- */

  /* Return what reads a text of packed numbers: one at each call. */
  function reader(text) {
    let at = 0;
    return () => {
      let value = 0, digit;
      while ((digit = digits[text.charCodeAt(at++)]) >= 57) value = value * 32 + digit - 57;
      return value * 57 + digit;
    };
  }

  function many(count, next) {
    const out = [];
    for (let n = 0; n < count; n++) out.push(next(n));
    return out;
  }

  function rising(count, next) {
    let last = -1;
    return many(count, () => (last += next() + 1));
  }

  function fronts(text) {
    let last = "";
    return text ? text.split("\n").map(line => (last = last.slice(0, digits[line.charCodeAt(0)]) + line.slice(1))) : [];
  }

  /* Return the index over `distkb.searchIndex`, one for the page; `folder` is the assets' address with its slash. */
  function open(folder) {
    const core = distkb.searchIndex;
    if (opened) return opened;
    [...core.alphabet].forEach((char, n) => { digits[char.charCodeAt(0)] = n; });
    for (const name in core.lists) lists[name] = new Set(core.lists[name].split(" "));
    Object.assign(numbers, core.numbers);
    layout = core.layout.map(([first, keys]) => [first, keys.split(" ")]);
    Object.assign(kinds, core.kinds);
    const counts = reader(core.passages), norms = reader(core.norms), hints = reader(core.hints);
    const links = reader(core.related);
    const index = { ids: core.ids, folder, core, missing: new Set(), nearest: new Map(), parts: [], owner: [], lang: [] };
    for (const lang of [0, 1, 2]) {
      core.ids.forEach((id, entry) => {
        for (let left = counts(); left > 0; left--) { index.owner.push(entry); index.lang.push(lang); }
      });
    }
    index.related = core.ids.map(() => rising(links(), links));
    index.norm = many(index.owner.length, () => norms() / numbers.mantissa * 2 ** (8 - norms()));
    index.hints = core.lines.flatMap((size, part) => many(size, row => ({ part, row, pieces: many(hints(), hints) })));
    return (opened = index);
  }

  /* Return the value of a script of the index; nothing, and noted as missing, where it has not been loaded. */
  function need(index, name, file) {
    if (!distkb[name]) index.missing.add(index.folder + file);
    return distkb[name];
  }

  /* Return the part that has a word or an atom. */
  function part(index, word) {
    const after = index.core.cuts.findIndex(first => first > word);
    const n = (after < 0 ? index.core.cuts.length : after) - 1;
    if (!index.parts[n]) {
      const packed = need(index, "search" + n, index.core.parts[n]);
      if (!packed) return { terms: new Map(), forms: new Map() };
      index.parts[n] = unpack(packed, index.ids.length);
    }
    return index.parts[n];
  }

  function unpack(packed, total) {
    const next = reader(packed[1]), named = reader(packed[4]), concepts = packed[3].split(" ");
    const all = fronts(packed[0]).map(word => ({ word, entries: next(), passages: next() }));
    for (const term of all) term.idf = next();
    for (const term of all) term.entries = rising(term.entries, next);
    for (const term of all) term.impacts = many(term.entries.length, next);
    for (const term of all) {
      const residue = (term.idf % 2 ? -1 - term.idf : term.idf) / 2 / numbers.residue;
      term.passages = rising(term.passages, next);
      term.idf = rarity(term, total) + residue;
    }
    const forms = new Map();
    for (const form of fronts(packed[2])) {
      const atoms = form.split(" "), group = forms.get(atoms[0]) || { longest: 0, forms: new Map() };
      group.longest = Math.max(group.longest, atoms.length);
      group.forms.set(form, many(named(), () => concepts[named()]));
      forms.set(atoms[0], group);
    }
    return { terms: new Map(all.map(term => [term.word, term])), forms };
  }

  function rarity(term, total) {
    let having = 0.5;
    for (const impact of term.impacts) having += Math.max(numbers.touch, impact * numbers.impactUnit / numbers.fullImpact);
    const rare = Math.log(1 + (total + 1 - having) / having);
    return isTopic(term.word) ? Math.max(rare, numbers.conceptRarity) : rare;
  }

  const term = (index, word) => part(index, word).terms.get(word);

  /* Ask until nothing that the answer needs is missing; return a promise of the answer. */
  async function settled(index, ask, before) {
    index.missing.clear();
    const answer = ask(), missing = [...index.missing];
    if (!missing.length) return answer;
    if (missing.join() === before) throw new Error(before);
    await Promise.all(missing.map(load));
    return settled(index, ask, missing.join());
  }

  /* ---- Forms of the glossary (forms.py) ---- */

  const isTopic = word => word[0] === CONCEPT && word[1] !== "~";

  const conceptWeight = word => kinds[word[1] === "~" ? "generic" : "concept"];

  /* Return the concepts that pieces name, as words, in order of place, each match with its first and last piece. */
  function concepts(index, found) {
    const atoms = [], matches = [];
    let run = 0, at = 0;
    found.forEach((piece, number) => {
      run += piece.joined ? 0 : 1;
      piece.atoms.forEach((text, offset) => {
        atoms.push({ text, piece: number, offset, run, rest: piece.text.slice(offset + 1), hangul: piece.hangul });
      });
    });
    while (at < atoms.length) {
      const group = part(index, atoms[at].text).forms.get(atoms[at].text);
      let length = group ? Math.min(group.longest, atoms.length - at) : 0;
      for (; length > 0; length--) {
        const span = atoms.slice(at, at + length), named = group.forms.get(span.map(atom => atom.text).join(" "));
        if (named && belong(span)) {
          matches.push({ words: named.map(id => CONCEPT + id), first: span[0].piece, last: span[length - 1].piece });
          break;
        }
      }
      at += length || 1;
    }
    return matches;
  }

  function belong(span) {
    const first = span[0], last = span[span.length - 1];
    if (first.run !== last.run) return false;
    if (!first.hangul) return true;
    if (span.length === 1) return first.offset === 0 && (!first.rest || lists.particles.has(first.rest));
    return first.piece === last.piece || first.offset === 0;
  }

  /* ---- Typos (correct.py) ---- */

  /* Return how many letters have to be left out, put in, changed, or swapped with their neighbour. */
  function distance(a, b) {
    const rows = [many(b.length + 1, j => j)];
    for (let i = 1; i <= a.length; i++) {
      rows.push([i]);
      for (let j = 1; j <= b.length; j++) {
        const change = rows[i - 1][j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
        const swap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? rows[i - 2][j - 2] + 1 : change;
        rows[i].push(Math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, change, swap));
      }
    }
    return rows[a.length][b.length];
  }

  /* Return the known word that a wrong one is nearest to; `far` gives the distance, or nothing where it is too far. */
  function nearest(index, word, far) {
    const n = index.core.initials.indexOf(word.normalize("NFD")[0]);
    const packed = n < 0 ? "" : need(index, "searchTypos" + n, index.core.typos[n]);
    let best = Infinity, found = null;
    if (index.nearest.has(word)) return index.nearest.get(word);
    for (const other of fronts(packed)) {
      const value = far(other);
      if (value < best) { best = value; found = other; }
    }
    if (packed !== undefined) index.nearest.set(word, found);
    return found;
  }

  function correctLatin(index, word) {
    const limit = word.length < 9 ? 1 : 2;
    if (!/^[a-z]{4,32}$/.test(word)) return null;
    return nearest(index, word, other => {
      if (other.slice(-1) !== word.slice(-1) || Math.abs(other.length - word.length) > limit) return;
      const value = distance(word, other);
      return value <= limit ? value : undefined;
    });
  }

  function correctHangul(index, run) {
    if (run.length < 3 || run.length > 12) return null;
    return nearest(index, run, other => {
      if (other.length < Math.max(2, run.length - 3) || other.length > run.length) return;
      const jamo = other.normalize("NFD"), value = distance(run.slice(0, other.length).normalize("NFD"), jamo);
      return value <= Math.max(1, Math.floor(jamo.length / 7)) ? value / jamo.length : undefined;
    });
  }

  /* ---- Scores (score.py): of entries by their number in the index ---- */

  function strengths(index, words, atLeast) {
    const known = [];
    words.forEach((value, word) => {
      const found = term(index, word);
      if (found && value > 0) known.push([found, value * (isTopic(word) ? Math.max(found.idf, atLeast) : found.idf)]);
    });
    return known;
  }

  const add = (map, key, value) => map.set(key, (map.get(key) || 0) + value);

  const raise = (map, key, value) => map.set(key, Math.max(map.get(key) || 0, value));

  function bagScores(known) {
    const scores = new Map(), full = known.reduce((sum, [, strength]) => sum + strength, 0);
    for (const [found, strength] of known) {
      const share = strength / full * numbers.impactUnit;
      found.entries.forEach((entry, n) => add(scores, entry, share * found.impacts[n]));
    }
    return scores;
  }

  function bestPassages(index, known, lang) {
    const overlap = new Float64Array(index.owner.length), best = new Float64Array(index.ids.length);
    const wanted = ["", "en", "ko"].indexOf(lang || "");
    let square = 0;
    for (const [found, strength] of known) {
      square += strength * strength;
      for (const passage of found.passages) overlap[passage] += strength * strength;
    }
    overlap.forEach((value, passage) => {
      if (!value) return;
      const spoken = index.lang[passage], owner = index.owner[passage];
      const likeness = value * index.norm[passage] / Math.sqrt(square);
      best[owner] = Math.max(best[owner], wanted && spoken && spoken !== wanted ? likeness * numbers.otherLanguage : likeness);
    });
    return best;
  }

  /* ---- Queries (query.py) ---- */

  function addWords(index, words, found, factor) {
    const covered = new Set();
    for (const match of concepts(index, found)) {
      for (let n = match.first; n <= match.last; n++) covered.add(n);
      for (const word of match.words) raise(words, word, factor * conceptWeight(word));
    }
    found.forEach((piece, number) => {
      let share = factor * (covered.has(number) ? numbers.covered : 1);
      if (piece.hangul && piece.tokens.length) share /= Math.sqrt(piece.tokens.length);
      for (const [text, kind] of piece.tokens) raise(words, text, share * kinds[kind]);
    });
    return covered;
  }

  function isUnknown(index, piece) {
    const [first] = piece.tokens, lacks = ([text]) => !term(index, text);
    if (!first || first[1] === "weak") return false;
    return piece.hangul ? 2 * piece.tokens.filter(lacks).length >= piece.tokens.length : lacks(first);
  }

  function correctChunk(index, piece) {
    const written = writtenWords(piece.text);
    const corrected = written.map(word => term(index, stem(word)) ? word : correctLatin(index, word) || word);
    return corrected.join() === written.join() ? null : corrected.join("_");
  }

  function queryWords(index, query) {
    const found = pieces(query), words = new Map(), covered = addWords(index, words, found, 1);
    let left = numbers.maxCorrections;
    found.forEach((piece, number) => {
      /* While something is missing, nobody knows which words are unknown. */
      if (covered.has(number) || !left || !isUnknown(index, piece) || index.missing.size) return;
      const corrected = piece.hangul ? correctHangul(index, piece.text) : correctChunk(index, piece);
      if (corrected === null) return;
      left -= 1;
      addWords(index, words, pieces(corrected), numbers.corrected);
    });
    return words;
  }

  function namedEntries(index, query) {
    const ids = index.ids.map(id => id.toUpperCase());
    const named = normalise(query).matchAll(/(?:^|[^A-Za-z0-9_])([A-Za-z]{1,3}\d{1,3})(?![A-Za-z0-9_])/g);
    return new Set([...named].map(([, id]) => ids.indexOf(id.toUpperCase())).filter(n => n >= 0));
  }

  /* Return the rows of the signatures that a line of the query matches. */
  function matching(index, query) {
    const found = [], lowered = query.toLowerCase(), lines = query.split(LINES);
    const held = index.core.pieces.map(piece => lowered.includes(piece));
    for (const hint of index.hints) {
      if (!hint.pieces.some(n => held[n])) continue;
      const rows = need(index, "searchLines" + hint.part, index.core.patterns[hint.part]);
      if (!rows) continue;
      const row = rows[hint.row], pattern = hint.pattern || (hint.pattern = new RegExp(row[0], row[1]));
      if (lines.some(line => pattern.test(line))) found.push(row);
    }
    return found;
  }

  /* Return what the signatures that match add to the entries that list them. */
  function signatureBoosts(index, query) {
    const boosts = new Map();
    for (const [, , weights] of matching(index, query)) {
      for (let n = 0; n < weights.length; n += 2) raise(boosts, weights[n], numbers.signature * weights[n + 1]);
    }
    return boosts;
  }

  const wordsOf = words => new Set((words.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || []).filter(word => !lists.stop.has(word)));

  /* Return id and text of the known lines that a query holds, first the one with most in common with it. */
  function knownLines(index, query) {
    const asked = wordsOf(query);
    return matching(index, cut(query)).filter(row => row[3]).map(([, , , id, text]) => {
      const own = wordsOf(text), same = [...own].filter(word => asked.has(word)).length;
      return [same / (own.size + asked.size - same || 1), same, id, text];
    }).sort((a, b) => b[0] - a[0] || b[1] - a[1]).map(row => row.slice(2));
  }

  const ranked = scores => [...scores].sort((a, b) => b[1] - a[1] || a[0] - b[0]);

  /* Let what the first entries name as related come before what has only words in common with the query. */
  function liftRelated(index, scores) {
    const first = ranked(scores).slice(0, numbers.first), gains = new Map();
    if (first.length < numbers.first) return;
    const most = numbers.justBelow * first[first.length - 1][1];
    for (const [entry, score] of first) {
      for (const related of index.related[entry]) {
        if (scores.has(related) && first.every(([other]) => other !== related)) raise(gains, related, numbers.related * score);
      }
    }
    gains.forEach((gain, entry) => {
      const score = scores.get(entry);
      scores.set(entry, Math.max(score, Math.min(most, score + gain)));
    });
  }

  /* Return the entries that answer a query, best first: pairs of id and score. `lang` is the reader's language. */
  function search(index, query, limit, lang) {
    query = retyped(index, cut(query));
    const known = strengths(index, queryWords(index, query), numbers.askedRarity), scores = bagScores(known);
    const best = bestPassages(index, known, /[가-힣]/.test(query) ? "" : lang);
    scores.forEach((score, entry) => scores.set(entry, score + numbers.passage * best[entry]));
    signatureBoosts(index, query).forEach((boost, entry) => add(scores, entry, boost));
    liftRelated(index, scores);
    const top = Math.max(0, ...scores.values());
    [...namedEntries(index, query)].forEach((entry, place) => scores.set(entry, top + 10 - place * 0.01));
    return ranked(scores).filter(([, score]) => score > 0).slice(0, limit)
      .map(([entry, score]) => [index.ids[entry], score]);
  }

  return {
    load, open, settled, search, knownLines, namedEntries, wordsOf, pieces, concepts, queryWords
  };
})();
