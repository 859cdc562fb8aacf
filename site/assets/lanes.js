/* What each rank printed when, of a text in which several ranks say who they are: the lanes of a drawing. */
(() => {
  "use strict";
  const distkb = window.distkb, START = 120, MOST = 16, MARKS = 12;
  const RANK = /\[rank ?[=:]? ?(\d{1,5})\]|\brank[ =:]{1,2}(\d{1,5})\b|\[default(\d{1,5})\]/i;
  const TIME = /(?:(\d{4}-\d\d-\d\d)[T ])?(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6}))?/;

  /* Return seconds of a clock, with the day where one is given. */
  function seconds([, day, hours, minutes, rest, part]) {
    return (day ? Date.parse(day) / 1000 : 0) + 3600 * hours + 60 * minutes + +rest + +`0.${part || 0}`;
  }

  /* What each known line is: the failure, or its echo on another rank. */
  function roles() {
    const data = distkb.diagnosePatterns;
    const echoes = new Set(data.echoes), failures = new Set(data.failures.concat(data.echoes));
    return { echoes, failures };
  }

  /* Return the lanes: `timed` tells whether places are seconds or numbers of lines. Null where fewer than two ranks
     speak. `seen` are observations with the lines that show them. */
  distkb.lanes = (text, seen) => {
    const { echoes, failures } = roles(), kinds = new Map(), ranks = new Map();
    for (const one of seen) {
      for (const quote of one.present && failures.has(one.id) ? one.quotes : []) {
        if (quote.line) kinds.set(quote.line, echoes.has(one.id) ? "echo" : kinds.get(quote.line) || "failure");
      }
    }
    let number = 0;
    for (const line of text.split("\n")) {
      number += 1;
      const start = line.slice(0, START), named = RANK.exec(start);
      if (!named) continue;
      const rank = Number(named[1] || named[2] || named[3]), clock = TIME.exec(start);
      if (!ranks.has(rank)) ranks.set(rank, { rank, count: 0, lines: [number, number], times: null, marks: [] });
      const lane = ranks.get(rank), time = clock ? seconds(clock) : lane.times && lane.times[1];
      lane.count += 1;
      lane.lines[1] = number;
      if (time !== null) lane.times = [lane.times ? Math.min(time, lane.times[0]) : time, Math.max(time, lane.times ? lane.times[1] : time)];
      if (kinds.has(number) && lane.marks.length < MARKS) lane.marks.push([number, time, kinds.get(number)]);
    }
    if (ranks.size < 2) return null;
    const all = [...ranks.values()], timed = all.every(lane => lane.times);
    const shown = all.map(({ rank, count, lines, times, marks }) => {
      const [from, to] = timed ? times : lines;
      return { rank, count, from, to, marks: marks.map(([line, time, kind]) => [timed ? time : line, kind]) };
    });
    /* Of many ranks those that ended first, and those that failed, tell most. */
    shown.sort((a, b) => b.marks.length - a.marks.length || a.to - b.to || a.rank - b.rank).splice(MOST);
    return { timed, all: ranks.size, ranks: shown.sort((a, b) => a.rank - b.rank) };
  };
})();
