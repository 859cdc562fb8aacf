/* How well a report fits each entry: by the likeness of passages (affinity.js) and by the statistics of words, as
   distkb.search.wording has them. Needs text.js and affinity.js. */
(() => {
  "use strict";
  const distkb = window.distkb = window.distkb || {};

  /* Unpack the statistics: a word's entries, and by how much each is above its base. */
  function unpack(data, alphabet) {
    const digits = new Map(Array.from(alphabet, (char, n) => [char, n])), last = alphabet.length - 32, words = new Map();
    let at = 0, word = "";
    function next() {
      let value = 0, digit = digits.get(data.pairs[at++]);
      for (; digit >= last; digit = digits.get(data.pairs[at++])) value = value * 32 + digit - last;
      return value * last + digit;
    }
    for (const line of data.words.split("\n")) {
      word = word.slice(0, digits.get(line[0])) + line.slice(1);
      const entries = [], above = [], count = next();
      for (let n = 0, entry = -1; n < count; n++) entries.push((entry += next() + 1));
      for (let n = 0; n < count; n++) above.push(next());
      words.set(word, { entries, above });
    }
    return words;
  }

  distkb.wording = (data, index) => {
    /* Sum the log ratios of weighted words, by entry or cause; words that no text has count nothing. */
    function statistics(kept) {
      const known = unpack(kept, index.core.alphabet);
      return words => {
        const sums = kept.bases.map(() => 0);
        let total = 0;
        words.forEach((weight, word) => {
          const found = known.get(word);
          if (!found) return;
          total += weight;
          found.entries.forEach((entry, n) => { sums[entry] += weight * found.above[n] * data.unit; });
        });
        return kept.bases.map((base, n) => total * base + sums[n]);
      };
    }
    const weigh = statistics(data);

    /* Turn sums of log ratios into weights against the average entry, within the cap. */
    function weights(sums) {
      const top = Math.max(...sums), shares = sums.map(value => Math.exp(data.sharpness * (value - top)));
      const average = shares.reduce((all, share) => all + share, 0) / shares.length;
      return shares.map(share => Math.max(-data.cap, Math.min(data.cap, Math.log(share / average + data.least))));
    }

    /* How well texts with their shares fit each entry, by id. */
    async function weighed(texts) {
      const printed = new RegExp(data.printed, "g");
      const text = distkb.text, likeness = index.ids.map(() => 0), sums = index.ids.map(() => 0);
      for (const [words, share] of texts) {
        const part = words.replace(printed, " ").slice(0, 2 * text.numbers.maxChars);
        const near = await text.settled(index, () => text.affinity(index, part));
        const said = weigh(await text.settled(index, () => text.affinity.words(index, part)));
        index.ids.forEach((id, n) => {
          likeness[n] += share * near[id];
          sums[n] += share * said[n];
        });
      }
      const told = weights(sums);
      return Object.fromEntries(index.ids.map((id, n) => [id, likeness[n] + data.share * told[n]]));
    }

    /* A report's affinity to each entry: of what tells about the failure, and of all its words. */
    const fits = (telling, report) => weighed([[telling, data.tellingShare], [report, 1 - data.tellingShare]]);

    /* The kinds of lines that a program printed of itself, as sentences, without those of the lines that are `named`. */
    function printedWords(text, named) {
      const { frame, library, marks, others, lines, characters, width, least } = data.ofRun;
      const [frames, libraries, spared] = [frame, library, others].map(source => new RegExp(source));
      const numbers = new RegExp(marks, "g"), kinds = new Set(), told = new Set();
      let own = null, number = 0;
      for (const line of text.split("\n")) {
        let said = Array.from(line.slice(0, 2 * width)).slice(0, width).join("");
        number += 1;
        const quoted = own, found = frames.exec(said);
        own = found ? !libraries.test(found[1].replaceAll("\\", "/")) : null;
        if (found) said = own && found[2] || "";
        else if (quoted === false || (quoted === null && spared.test(said))) continue;
        const kind = said.replace(numbers, " ").trim().split(/\s+/).join(" ");
        if (named.has(number)) told.add(kind);
        else if (kind.length >= least) kinds.add(kind);
      }
      let known = Array.from(kinds).filter(kind => !told.has(kind));
      if (known.length > lines) known = known.slice(0, lines / 2).concat(known.slice(-lines / 2));
      const words = known.join(". "), half = characters / 2;
      return words.length <= characters ? words : words.slice(0, half) + " " + words.slice(-half);
    }

    let examples = null;
    function exampleRuns(runs) {
      const entries = statistics(runs.entries), own = statistics(runs.own);
      return words => {
        const shared = entries(words);
        return own(words).map((value, cause) => shared[runs.owners[cause]] + value);
      };
    }

    /* How well what a run printed of itself fits each entry, by its texts, and each cause, by example runs. */
    fits.ofRun = async (text, named, runs) => {
      const words = printedWords(text, named);
      if (!words) return {};
      const said = await distkb.text.settled(index, () => distkb.text.affinity.words(index, words));
      const share = said.size / (said.size + data.halfWordsOfRun), found = await weighed([[words, 1]]);
      examples = examples || exampleRuns(runs);
      const alike = weights(examples(said)).map((weight, n) => [runs.causes[n], weight]);
      return Object.fromEntries(Object.entries(found).map(([id, weight]) => [id, share * weight]).concat(alike));
    };

    /* The same of an error: the fewer its words are, the less they say; a listed message of a library says more. */
    fits.ofError = async (telling, error) => {
      const said = await distkb.text.settled(index, () => distkb.text.affinity.words(index, error));
      const share = said.size / (said.size + data.halfWordsOfError), found = await fits(telling, error);
      const known = new Set(data.messages.filter(([, pattern]) => new RegExp(pattern).test(error)).map(([n]) => index.ids[n]));
      return Object.fromEntries(Object.entries(found)
        .map(([id, weight]) => [id, share * weight + (known.has(id) ? data.listed : 0)]));
    };
    return fits;
  };
})();
