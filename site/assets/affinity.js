/*
 * How well a report in somebody's own words fits each entry, as the program weighs it (search/affinity.py). Needs
 * text.js. The answer is to be asked for by `distkb.text.settled`, which loads the words that the report has.
 */
distkb.text.affinity = (() => {
  "use strict";
  const text = distkb.text, SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
  const SENTENCES = new RegExp(`(?<=[.!?])[${SPACE}]+|\\n+`), SPOKEN = new RegExp(`[^${SPACE}]`);

  /* Return the words of a text with their weights; repeats count less and less. */
  function dampedWords(index, words) {
    const counts = new Map(), weights = new Map(), found = text.pieces(words);
    for (const [word, kind] of found.flatMap(piece => piece.tokens)) {
      text.add(counts, word, 1);
      text.raise(weights, word, text.kinds[kind]);
    }
    for (const word of text.concepts(index, found).flatMap(match => match.words)) {
      text.add(counts, word, 1);
      weights.set(word, text.conceptWeight(word));
    }
    counts.forEach((count, word) => counts.set(word, weights.get(word) * (1 + Math.log(count))));
    return counts;
  }

  /* Return, by id, how much more likely a report makes each entry than the average one, as a natural logarithm. */
  const weigh = (index, report) => {
    report = text.cut(report);
    const known = text.strengths(index, dampedWords(index, report), 0), best = index.ids.map(() => 0);
    if (!known.length) return Object.fromEntries(index.ids.map(id => [id, 0]));
    for (const sentence of report.split(SENTENCES).filter(one => SPOKEN.test(one)).slice(0, text.numbers.maxSentences)) {
      const said = text.strengths(index, dampedWords(index, sentence), 0);
      text.bestPassages(index, said).forEach((likeness, entry) => { best[entry] = Math.max(best[entry], likeness); });
    }
    const { cap, halfWords, sentence, sharpness } = text.numbers, bag = text.bagScores(known);
    const sharp = sharpness * known.length / (known.length + halfWords);
    const scores = index.ids.map((_, n) => (bag.get(n) || 0) + sentence * best[n]);
    const top = Math.max(...scores), sum = scores.reduce((all, score) => all + Math.exp(sharp * (score - top)), 0);
    const average = top + Math.log(sum / scores.length) / sharp;
    return Object.fromEntries(scores.map((score, n) => {
      const weight = Math.max(-cap, Math.min(cap, sharp * (score - average)));
      return [index.ids[n], Math.round(weight * 1e6) / 1e6];
    }));
  };
  return Object.assign(weigh, { words: (index, report) => dampedWords(index, text.cut(report)) });
})();
