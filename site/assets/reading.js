/* Reads what a person wrote or pasted, as `distkb diagnose --report` does: prose, commands, output, tracebacks.
   Long work is written as generators, so that the page can do it in slices; nothing here touches the page.
   All patterns, numbers and words come with the data. */
(() => {
  "use strict";
  var distkb = window.distkb = window.distkb || {};

  var SPACE = "\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
  var ENDS = new RegExp("^[" + SPACE + "]+|[" + SPACE + "]+$", "g");
  var END = new RegExp("[" + SPACE + "]+$");
  var BLANKS = new RegExp("[" + SPACE + "]+", "g");
  var BREAKS = /\r\n|[\n-\r\x1c-\x1e\x85\u2028\u2029]/;
  var ANCHOR = "Traceback (most recent call last):";
  var IN_USER_CODE = "logs.exception-in-user-code";
  var DIFFERENT_OPS = "flight-recorder.ranks-called-different-ops";
  /* Without case these two letters are an S and a K to JavaScript, and neither to a pattern for ASCII. */
  var FALSE_LETTERS = /[\u017f\u212a]/g;
  /* Units of work between two chances to pause. */
  var BATCH = 64;

  function strip(text) { return text.replace(ENDS, ""); }
  function words(text) { return strip(text).split(BLANKS).filter(Boolean); }

  function splitLines(text) {
    var lines = text.split(BREAKS);
    if (lines[lines.length - 1] === "") lines.pop();
    return lines;
  }

  /* The number of the line feed that ends each line, whatever else ends lines: logs are numbered by them. */
  function feeds(text) {
    var numbers = [], number = 1;
    text.split(new RegExp("(" + BREAKS.source + ")")).forEach((piece, at) => {
      if (at % 2 === 0) numbers.push(number);
      else if (piece.includes("\n")) number += 1;
    });
    return numbers;
  }

  function whole(text) {
    return /[\ud800-\udfff]/.test(text) ? text.replace(/\p{Surrogate}/gu, "?") : text;
  }

  function lastPart(name) { return name.slice(name.lastIndexOf(".") + 1); }

  /* So many lines that differ in their numbers only are no sentences of a person. */
  var REPEATED = 3;
  /* Lines of output from which it is a run's, and how many times as many as the others. */
  var WHOLE = 10, WHOLE_SHARE = 2;
  /* Lines that a text of output alone has at least, and what a person's sentence has. */
  var PRINTED = 4, SENTENCE = /[\uac00-\ud7a3]|\b(?:we|it|but|when|after|does|hangs?|training|please|why|how)\b.*\s.*\s/i;

  distkb.reading = data => {
    var echoes = new Set(data.echoes), failures = new Set(data.failures), concludes = new Map(data.concludes);
    var numbers = data.numbers;
    var rules = {};
    var everywhere = {};
    Object.keys(data.rules).forEach(name => {
      rules[name] = new RegExp(data.rules[name][0], data.rules[name][1]);
      everywhere[name] = new RegExp(data.rules[name][0], data.rules[name][1] + "g");
    });
    var secrets = data.secrets.map(kind => {
      return { pattern: new RegExp(kind[0], kind[1] + "g"), always: kind[2] === 1 };
    });
    var compiled = {};

    /* A signature's pattern, made when it is first needed: most are never. Without the `u` flag, which only characters
       of two halves need, it is twice as fast. */
    function pattern(list, index, text) {
      var source = data[list][index][1], wide = /[\ud800-\udfff]/.test(text) || source.includes("\\u{");
      var key = list + index + wide;
      if (!compiled[key]) compiled[key] = new RegExp(source, (data[list][index][2] ? "i" : "") + (wide ? "u" : ""));
      return compiled[key];
    }

    /* ---- quotes: no control characters, no secrets, a readable length ---- */

    function stripEscapes(text) {
      return /[\x1b\x9b]/.test(text) ? text.replace(everywhere.escapes, "") : text;
    }

    function plain(text) {
      if (/^[ -~]*$/.test(text)) return text;
      text = stripEscapes(text).replace(/\t/g, "    ").replace(/[\r\n]/g, " ");
      return whole(text.replace(everywhere.invisible, ""));
    }

    function mask(text) {
      var telling = rules.telltale.test(text);
      secrets.forEach(kind => {
        if (telling || kind.always) text = text.replace(kind.pattern, "$1***");
      });
      return text;
    }

    function quote(text, start, end) {
      var context = numbers.context;
      if (text.length > 2 * context) {
        var low = Math.max(0, start - context);
        if (low) {
          var blank = text.indexOf(" ", low);
          low = blank >= 0 && blank < start ? blank + 1 : low;
        }
        var high = Math.min(text.length, Math.max(end, start) + context);
        text = text.slice(low, high);
        start -= low;
        end = Math.min(end, high) - low;
      }
      return cut(strip(mask(plain(text))), text, start, end);
    }

    /* What is shown of a line: the part around the match. */
    function cut(shown, text, start, end) {
      var width = numbers.width;
      if (shown.length <= width) return shown;
      var core = plain(text.slice(start, end)).slice(0, Math.floor(width / 2));
      var at = core ? shown.indexOf(core) : 0;
      if (at < 0) at = Math.round(shown.length * start / Math.max(1, text.length));
      var first = at + core.length <= width ? 0
        : Math.max(0, Math.min(at - Math.floor(width / 4), shown.length - width));
      var last = Math.min(shown.length, first + width);
      var head = first ? "…" : "";
      var tail = last < shown.length ? "…" : "";
      return head + shown.slice(first + head.length, last - tail.length) + tail;
    }

    function quoted(text, line) { return { text: quote(text, 0, 0), line: line }; }

    /* ---- a report, taken apart ---- */

    function kindOfLine(line, fenced, traced) {
      if (traced || rules.output.test(line)) return !traced && !fenced && rules.spoken.test(line) ? "prose" : "output";
      if (rules.command.test(line) && (fenced || !line.replace(END, "").endsWith("."))) return "setup";
      if (fenced || line.startsWith("    ") || line.startsWith("\t")) {
        return rules.code.test(line) || line.includes(" --") ? "setup" : "output";
      }
      return "prose";
    }

    function* takeApart(text) {
      var prose = [], setup = [], output = [], lines = [], fenced = false, traced = false;
      var raw = splitLines(text.slice(0, numbers.maxCharacters));
      for (var i = 0; i < raw.length; i++) {
        if (i % BATCH === 0) yield;
        var line = stripEscapes(raw[i]).replace(rules.quoted, "");
        if (rules.fence.test(line)) {
          fenced = !fenced;
          line = "";
        }
        if (rules.switchedOff.test((fenced ? "    " + line : line).slice(0, numbers.row))) line = "";
        var clean = line.replace(/`/g, "");
        lines.push(clean);
        traced = clean.includes("Traceback (most recent") || (traced && /^[ \t[]/.test(clean));
        var kind = kindOfLine(clean.slice(0, numbers.row), fenced, traced);
        prose.push(kind === "prose" ? clean : "");
        setup.push(kind === "setup" ? clean : "");
        output.push(kind === "output" ? clean : "");
      }
      return { prose: prose.join("\n"), setup: setup.join("\n"), output: output.join("\n"), lines: lines };
    }

    /* How many lines programs printed, and the others: those that differ in their numbers only nobody wrote. */
    function printedIn(parts) {
      var lines = parts.prose.split("\n").filter(strip), alike = new Map();
      var shapes = lines.map(line => line.replace(/[\d.]+/g, "0"));
      shapes.forEach(shape => alike.set(shape, (alike.get(shape) || 0) + 1));
      var others = lines.filter((_, at) => alike.get(shapes[at]) < REPEATED);
      return { count: parts.output.split("\n").filter(strip).length + lines.length - others.length, others: others };
    }

    /* Whether a text is what programs print, with nothing that a person says in it: its words describe nothing. */
    function isOutput(parts) {
      var printed = printedIn(parts);
      return printed.count >= PRINTED && printed.count >= printed.others.length &&
        !printed.others.some(line => rules.spoken.test(line) || SENTENCE.test(line));
    }

    /* Whether it holds the output of a run, whatever is said beside it, so that nobody asks for that again. */
    function holdsOutput(parts) {
      var printed = printedIn(parts);
      return printed.count >= WHOLE && printed.count >= WHOLE_SHARE * printed.others.length;
    }

    /* The sentences and error lines; all of it where hardly anything is left. */
    function* telling(parts) {
      var kept = [], seen = new Set(), count = 0, i;
      var prose = parts.prose.split("\n");
      for (i = 0; i < prose.length; i++) {
        if (i % BATCH === 0) yield;
        if (strip(prose[i]) && !rules.setting.test(prose[i].slice(0, numbers.row))) {
          kept.push(prose[i]);
          seen.add(prose[i]);
        }
      }
      for (i = 0; i < parts.lines.length; i++) {
        if (i % BATCH === 0) yield;
        var line = parts.lines[i];
        if (rules.error.test(line) && !rules.footer.test(line) && !seen.has(line)) {
          seen.add(line);
          kept.push(line.slice(0, numbers.maxLine));
        }
      }
      kept.forEach(one => { count += words(one).length; });
      return (count < numbers.minWords ? parts.lines : kept).join("\n");
    }

    /* ---- signatures ---- */

    /* Pieces by a hash of their first three characters, and for each the signatures that it may announce. */
    var sieve = null;
    function hash(a, b, c) { return (a * 961 + b * 31 + c) & 65535; }

    function makeSieve() {
      var buckets = new Array(65536), always = [], holders = data.pieces.map(() => []);
      data.signatures.forEach((signature, index) => {
        if (!signature[3].length) always.push(index);
        signature[3].forEach(piece => { holders[piece].push(index); });
      });
      data.pieces.forEach((piece, number) => {
        var key = hash(piece.charCodeAt(0), piece.charCodeAt(1), piece.charCodeAt(2));
        (buckets[key] = buckets[key] || []).push(number);
      });
      return { buckets: buckets, always: always, holders: holders };
    }

    function lower(code) { return code >= 65 && code <= 90 ? code + 32 : code; }

    function holds(text, at, piece) {
      if (at + piece.length > text.length) return false;
      for (var k = 0; k < piece.length; k++) {
        if (lower(text.charCodeAt(at + k)) !== piece.charCodeAt(k)) return false;
      }
      return true;
    }

    /* Numbers of the signatures that a text may show: a few too many, never too few. */
    function suspects(text) {
      sieve = sieve || makeSieve();
      var found = new Set(sieve.always);
      piecesIn(text).forEach(piece => { sieve.holders[piece].forEach(found.add, found); });
      return found;
    }

    /* Numbers of the pieces that a text holds. */
    function piecesIn(text) {
      sieve = sieve || makeSieve();
      var found = new Set();
      var a = lower(text.charCodeAt(0)), b = lower(text.charCodeAt(1));
      for (var at = 0; at + 2 < text.length; at++) {
        var c = lower(text.charCodeAt(at + 2));
        var bucket = sieve.buckets[hash(a, b, c)];
        if (bucket) {
          for (var k = 0; k < bucket.length; k++) {
            if (!found.has(bucket[k]) && holds(text, at, data.pieces[bucket[k]])) found.add(bucket[k]);
          }
        }
        a = b;
        b = c;
      }
      return found;
    }

    /* Runs of lines without an empty one between them, joined by a blank, some at a time. */
    function folded(lines) {
      var rows = [], run = [], half = Math.floor(numbers.fold / 2);
      function flush() {
        if (run.length > 1) {
          for (var first = 0; first < Math.max(1, run.length - half); first += half) rows.push(joined(first));
        }
        run = [];
      }
      function joined(first) {
        var part = run.slice(first, first + numbers.fold), at = 0;
        return {
          text: part.map(one => one[1]).join(" "),
          starts: part.map(one => {
            var start = at;
            at += one[1].length + 1;
            return [start, one[0]];
          })
        };
      }
      lines.forEach((line, index) => {
        var text = words(line).join(" ");
        if (text) run.push([index + 1, text]);
        else flush();
      });
      flush();
      return rows;
    }

    /* Rows with the long ones in parts, each half over the one before. */
    function cutRows(rows) {
      var size = numbers.row, step = Math.floor(size / 2), found = [];
      function part(row, at) {
        return {
          text: row.text.slice(at, at + size),
          starts: row.starts.filter(start => start[0] < at + size).map(start => [Math.max(0, start[0] - at), start[1]])
        };
      }
      rows.forEach(row => {
        if (row.text.length <= size) found.push(row);
        else for (var at = 0; at < row.text.length - step; at += step) found.push(part(row, at));
      });
      return found;
    }

    function lineAt(row, offset) {
      var number = row.starts[0][1];
      row.starts.forEach(start => { if (start[0] <= offset) number = Math.max(number, start[1]); });
      return number;
    }

    /* Add what the rows show and was not found before them. */
    function* look(rows, certainty, found) {
      var already = new Set(found.keys());
      for (var i = 0; i < rows.length; i++) {
        if (i % 16 === 0) yield;
        var text = whole(rows[i].text).replace(FALSE_LETTERS, "\u4e00");
        suspects(text).forEach(index => {
          if (already.has(index)) return;
          var match = pattern("signatures", index, text).exec(text);
          if (!match) return;
          if (found.has(index)) {
            found.get(index).count += 1;
            return;
          }
          found.set(index, {
            id: data.signatures[index][0], source: "report", present: true, certainty: certainty, count: 1,
            quotes: [{
              text: quote(whole(rows[i].text), match.index, match.index + match[0].length),
              line: lineAt(rows[i], match.index)
            }]
          });
        });
      }
    }

    function* signatures(parts) {
      var found = new Map();
      var rows = parts.lines.map((line, index) => { return { text: line, starts: [[0, index + 1]] }; });
      yield* look(cutRows(rows), 1, found);
      yield* look(cutRows(folded(parts.lines)), numbers.folded, found);
      return Array.from(found.keys()).sort((a, b) => a - b).map(i => found.get(i));
    }

    /* ---- tracebacks ---- */

    function isUser(frame) { return !rules.library.test(frame.path.replace(/\\/g, "/")); }

    /* The library frames inside the innermost frame of the user's code. */
    function below(frames) {
      for (var i = frames.length - 1; i >= 0; i--) if (isUser(frames[i])) return frames.slice(i + 1);
      return frames;
    }

    function indent(text) { return /^[ \t]*/.exec(text)[0].length; }

    function prefixOf(opening) {
      var mark = new RegExp("(?:\\+ Exception Group |\\| )[" + SPACE + "]*$").exec(opening);
      return { text: (mark ? opening.slice(0, mark.index) : opening).replace(/[ \t]+$/, ""), grouped: mark !== null };
    }

    /* The prefix without an unfinished line, such as a progress bar, between the tags of launcher and rank. */
    function withoutBar(lines, start, prefix) {
      var following = lines.slice(start + 1, start + 40).filter(line => line.includes("File \""));
      function begins(text) { return following.some(line => line.startsWith(text)); }
      if (begins(prefix)) return prefix;
      var tags = rules.tags.exec(prefix.slice(0, numbers.maxPrefix));
      var short = tags ? (tags[1] + tags[2]).replace(END, "") : "";
      return short && begins(short) ? short : prefix;
    }

    /* A prefix with a time in it varies in its digits. */
    function varying(prefix) {
      if (!/\p{Nd}\p{Nd}:\p{Nd}\p{Nd}:\p{Nd}\p{Nd}/u.test(prefix)) return null;
      var source = prefix.replace(/[\^$\\.*+?()[\]{}|/]/g, "\\$&").replace(/\p{Nd}+/gu, "\\p{Nd}+");
      return new RegExp("^" + source, "u");
    }

    /* Lines of the same writer, without the prefix: [index, rest]. */
    function ownLines(lines, start, prefix, grouped) {
      var timed = varying(prefix), own = [], end = Math.min(lines.length, start + numbers.maxLines);
      for (var i = start; i < end; i++) {
        var line = lines[i], rest = null;
        if (timed) {
          var found = timed.exec(line);
          rest = found ? line.slice(found[0].length) : null;
        } else if (line.startsWith(prefix)) {
          rest = line.slice(prefix.length);
          if (rest && i === start && !prefix && !grouped && strip(rest)[0] !== "T") {
            rest = rest.slice(rest.indexOf(ANCHOR));
          }
        }
        if (rest === null) continue;
        if (prefix && rest.startsWith(" ")) rest = rest.slice(1);
        if (grouped) {
          rest = rest.includes(ANCHOR) ? rest.slice(rest.indexOf(ANCHOR)) : rest.replace(rules.groupMark, "");
        }
        own.push([i, rest]);
      }
      return own;
    }

    function isSource(own, index, depth) {
      if (index >= own.length) return false;
      var text = own[index][1];
      return strip(text) !== "" && indent(text) > depth && !rules.frame.test(text);
    }

    /* Whether a line that is no frame ends the frames. */
    function endsFrames(own, index, base) {
      var text = own[index][1];
      if (!strip(text)) return !(index + 1 < own.length && rules.frame.test(own[index + 1][1]));
      return !rules.carets.test(text) && indent(text) <= base;
    }

    /* Read one exception from its "Traceback" line on; and the position after it. */
    function readOne(own, position) {
      var opening = own[position][1], frames = [], index = position + 1;
      var base = opening.replace(ENDS, "").startsWith(ANCHOR) ? indent(opening) : 0;
      while (index < own.length) {
        var found = rules.frame.exec(own[index][1]);
        if (found) {
          var at = own[index][0], source = "";
          if (isSource(own, index + 1, found[1].length)) {
            index += 1;
            source = strip(own[index][1]);
          }
          frames.push(frameOf(found, source, at));
        } else if (endsFrames(own, index, base)) {
          break;
        }
        index += 1;
      }
      return frames.length ? readException(own, index, frames) : { raised: null, after: index };
    }

    function frameOf(found, source, at) {
      var name = strip(found[4] || "<module>");
      var text = "File \"" + found[2] + "\", line " + parseInt(found[3], 10) + ", in " + name + "  " + source;
      return { path: found[2], text: text, at: at };
    }

    /* Read the line that names the exception, and the lines its message goes on over. */
    function readException(own, index, frames) {
      var found = index < own.length ? rules.exception.exec(strip(own[index][1])) : null;
      if (!found) return { raised: { type: "", message: "", frames: frames, at: -1 }, after: index };
      var at = own[index][0], message = [found[2] || ""];
      index += 1;
      while (index < own.length && message.length < numbers.maxMessage) {
        var text = own[index][1];
        if (!strip(text) || text.includes(ANCHOR) || rules.frame.test(text) || rules.logLine.test(text)) break;
        message.push(text.replace(END, ""));
        index += 1;
      }
      return { raised: { type: found[1], message: strip(message.join("\n")), frames: frames, at: at }, after: index };
    }

    /* Position of the next traceback of the same chain. */
    function chained(own, position) {
      var joined = false;
      for (var i = position; i < Math.min(own.length, position + 8); i++) {
        var text = strip(own[i][1]);
        if (data.names.chained.includes(text)) joined = true;
        else if (text.includes(ANCHOR)) return joined ? i : -1;
      }
      return -1;
    }

    /* The traceback that starts in a line, with those chained to it; null where nothing can be read. */
    function parse(lines, start) {
      var opening = lines[start], at = opening.indexOf(ANCHOR);
      var lead = prefixOf(opening.slice(0, at)), prefix = lead.text, grouped = lead.grouped;
      if (prefix && start + 1 < lines.length && rules.frame.test(lines[start + 1])) {
        prefix = "";
        grouped = false;
      } else if (!grouped) {
        var tags = withoutBar(lines, start, prefix);
        if (tags !== prefix) {
          lines = lines.slice();
          lines[start] = tags + " " + opening.slice(at);
          prefix = tags;
        }
      }
      var own = ownLines(lines, start, prefix, grouped), raised = [], consumed = [], position = 0;
      while (position >= 0 && position < own.length) {
        var one = readOne(own, position);
        if (!one.raised) break;
        raised.push(one.raised);
        own.slice(position, one.after).forEach(item => { consumed.push(item[0]); });
        position = chained(own, one.after);
      }
      return raised.length ? { raised: raised, consumed: consumed } : null;
    }

    function* tracebacks(lines) {
      var chains = [], taken = new Set();
      for (var i = 0; i < lines.length; i++) {
        if (!lines[i].includes(ANCHOR) || taken.has(i)) continue;
        yield;
        var chain = parse(lines, i);
        if (chain) {
          chains.push(chain);
          chain.consumed.forEach(taken.add, taken);
        }
      }
      return chains;
    }

    /* Whether the launcher raised it about its children: never a failure of the user's code. */
    function isLauncher(chain) {
      var last = chain.raised[chain.raised.length - 1];
      return data.names.launcherTypes.includes(lastPart(last.type)) ||
        last.frames.slice(0, 4).some(frame => rules.launcherFiles.test(frame.path));
    }

    function inLibrary(raised) {
      return below(raised.frames).some(f => rules.notUser.test(f.path.replace(/\\/g, "/")));
    }

    /* Whether an exception only says that another rank failed. */
    function isEcho(raised) {
      var short = lastPart(raised.type);
      var talks = short.startsWith("Dist") || data.names.endedTypes.includes(short) ||
        (data.names.communicationTypes.includes(short) && inLibrary(raised));
      return talks && rules.echo.test(raised.type + ": " + raised.message);
    }

    /* Whether an exception is the user's own: neither an echo of another rank nor a library's. */
    function isOwn(raised) {
      var short = lastPart(raised.type), dist = short.startsWith("Dist");
      if (isEcho(raised)) return false;
      if (inLibrary(raised) || dist || short.includes("OutOfMemory") || rules.notUserMessage.test(raised.message)) return false;
      return raised.frames.some(isUser);
    }

    function observed(id, certainty, place, count) {
      return { id: id, source: "report", present: true, certainty: certainty, quotes: [place], count: count || 1 };
    }

    /* What pasted tracebacks show: signatures of the user's frames, and an exception of the user's code. */
    function pasted(parts, chains) {
      var found = new Map();
      chains.forEach(chain => {
        if (isLauncher(chain)) return;
        var first = chain.raised[0];
        first.frames.filter(isUser).forEach(frame => {
          var text = frame.text.replace(FALSE_LETTERS, "\u4e00");
          data.frames.forEach((signature, index) => {
            if (!pattern("frames", index, text).test(text)) return;
            found.set(signature[0], observed(signature[0], numbers.folded, quoted(frame.text, frame.at + 1)));
          });
        });
        if (first.type && isOwn(first) && !found.has(IN_USER_CODE)) {
          var line = first.at >= 0 ? parts.lines[first.at] : first.type;
          found.set(IN_USER_CODE, observed(IN_USER_CODE, numbers.pasted, quoted(line, first.at + 1)));
        }
      });
      var watchdogs = differentOps(parts.lines);
      return Array.from(found.values()).concat(watchdogs ? [watchdogs] : []);
    }

    /* The exception that a library raised before all others, where no message or frame says what failed. */
    function unexplained(chains, seen) {
      if (seen.some(one => one.id !== IN_USER_CODE && failures.has(one.id))) return null;
      var echoed = new Set();
      seen.forEach(one => { if (echoes.has(one.id)) one.quotes.forEach(place => echoed.add(place.line)); });
      var chain = chains.find(one => {
        return !isLauncher(one) && !isEcho(one.raised[0]) && !echoed.has(one.raised[0].at + 1);
      }), first = chain && chain.raised[0];
      if (!first || !first.type || !below(first.frames).length) return null;
      return { text: quote(first.type + ": " + first.message, 0, 0), line: first.at + 1 };
    }

    /* Ranks of one group whose watchdogs, quoted line by line, waited at one number in different collectives. */
    function differentOps(lines) {
      var waited = new Map(), slots = new Map();
      lines.forEach((line, index) => {
        var work = line.includes("WorkNCCL(") ? rules.work.exec(line) : null, rank = work && rules.rank.exec(line);
        if (!rank || data.names.alone.includes(work[2])) return;
        var group = rules.group.exec(line);
        var one = {
          group: group ? group[1] : "", number: BigInt(work[1]), op: work[2], size: work[3] || "",
          place: { text: quote(line, work.index, work.index + work[0].length), line: index + 1 }
        };
        var key = String(BigInt(rank[1])), before = waited.get(key);
        if (before === undefined) waited.set(key, one);
        else if (before && (before.number !== one.number || before.op !== one.op || before.size !== one.size)) {
          waited.set(key, null); // It waited in several groups.
        }
      });
      waited.forEach(one => {
        if (!one) return;
        var slot = one.group + " " + one.number;
        if (!slots.has(slot)) slots.set(slot, new Map());
        var kind = one.op + " " + (data.names.oneSize.includes(one.op) ? one.size : "");
        if (!slots.get(slot).has(kind)) slots.get(slot).set(kind, one);
      });
      var differing = Array.from(slots.values()).find(kinds => kinds.size > 1);
      if (!differing) return null;
      var members = Array.from(differing.values());
      var found = observed(DIFFERENT_OPS, members[0].group ? 1 : numbers.unsure, members[0].place);
      found.quotes = members.slice(0, 6).map(one => one.place);
      return found;
    }

    /* ---- facts that the words show, and, where they leave a fact open, the output ---- */

    var wordPatterns = null;
    function makeWords() {
      function compile(pair) { return pair.map((phrases, korean) => phrases && { phrases: phrases, around: data.around[korean], made: new Map() }); }
      return data.words.map(fact => {
        return {
          id: fact[0], setup: data.names.setup.includes(fact[0]), tried: data.names.tried.includes(fact[0]),
          others: compile(fact[2]),
          values: fact[1].map(value => {
            return {
              value: value[0], share: value[1],
              lists: [[compile(value[2]), 1], [compile(value[3]), numbers.hint]], shown: compile(value[4])
            };
          })
        };
      });
    }

    /* The pattern of the phrases that a text may hold; null where it holds none. Most texts hold few. */
    function ready(words, text) {
      var held = spokenIn(text), near = words ? words.phrases.filter(one => one.length < 2 || held.has(one[1])) : [];
      if (!near.length) return null;
      var key = near.map(one => one[0]).join("|");
      if (!words.made.has(key)) {
        var source = data.marks.reduce((all, mark) => all.split(mark[0]).join(mark[1]), key);
        words.made.set(key, new RegExp(words.around[0] + source + words.around[1], "giu"));
      }
      return words.made.get(key);
    }

    /* The pieces that the words of a text hold; the last texts asked about are kept. */
    var spokenPieces = new Map(), ANY_HANGUL = -1;
    function spokenIn(text) {
      if (!spokenPieces.has(text)) {
        if (spokenPieces.size > 3) spokenPieces.clear();
        var found = piecesIn(text.replace(FALSE_LETTERS, one => one === "\u017f" ? "s" : "k").replace(/\u0131/g, "i"));
        if (/[\uac00-\ud7a3]/.test(text)) found.add(ANY_HANGUL);
        spokenPieces.set(text, found);
      }
      return spokenPieces.get(text);
    }

    function negated(text, start, end, korean) {
      if (korean) return rules.negatedKo.test(text.slice(end, end + 16));
      return rules.negatedEn.test(text.slice(Math.max(0, start - 40), start));
    }

    /* Whether a setup is mentioned because it works. */
    function aside(text, end, korean) {
      var after = text.slice(end, end + 48);
      return (!korean && rules.asideEn.test(after)) || rules.asideKo.test(after);
    }

    /* Where the title or first line ends. */
    function leadOf(text) {
      var start = /^[\n ]*/.exec(text)[0].length, end = text.indexOf("\n", start);
      return Math.min(end < 0 ? text.length : end, start + numbers.openingLength);
    }

    /* All places where values of a fact are said, without those inside a longer phrase. */
    function* placesOf(text, fact) {
      var lead = leadOf(text), places = [], spans = [], k;
      for (var v = 0; v < fact.values.length; v++) {
        var value = fact.values[v];
        for (var list of value.lists) {
          for (k = 0; k < 2; k++) {
            var said = ready(list[0][k], text);
            if (!said) continue;
            yield;
            for (var match of text.matchAll(said)) {
              var start = match.index, end = start + match[0].length;
              if (!fact.tried && negated(text, start, end, k === 1)) continue;
              var weight = list[1] * (list[1] === 1 && start < lead ? numbers.opening : 1);
              if ((fact.setup || fact.tried) && aside(text, end, k === 1)) weight *= numbers.aside;
              places.push({ value: value.value, share: value.share, weight: weight, start: start, end: end });
            }
          }
        }
      }
      places.forEach(place => { spans.push([place.start, place.end]); });
      for (k = 0; k < 2; k++) {
        var others = places.length ? ready(fact.others[k], text) : null;
        if (!others) continue;
        yield;
        for (var other of text.matchAll(others)) spans.push([other.index, other.index + other[0].length]);
      }
      spans.sort((a, b) => a[0] - b[0]);
      var longest = spans.reduce((most, span) => Math.max(most, span[1] - span[0]), 0);
      return places.filter(place => !insideAnother(place, spans, longest));
    }

    function insideAnother(place, spans, longest) {
      var low = 0, high = spans.length;
      while (low < high) {
        var middle = (low + high) >> 1;
        if (spans[middle][0] < place.start - longest) low = middle + 1;
        else high = middle;
      }
      for (; low < spans.length && spans[low][0] <= place.start; low++) {
        var span = spans[low];
        if (place.end <= span[1] && span[1] - span[0] > place.end - place.start) return true;
      }
      return false;
    }

    /* The first place of each value that the output shows. */
    function* shownIn(output, fact) {
      var places = [];
      for (var value of fact.values) {
        var shown = ready(value.shown[0], output);
        if (!shown) continue;
        yield;
        shown.lastIndex = 0;
        var match = shown.exec(output);
        if (!match) continue;
        var end = match.index + match[0].length;
        places.push({ value: value.value, share: value.share, weight: numbers.hint, start: match.index, end: end });
      }
      return places;
    }

    /* The value that is said most, rarer values weighing more; of its places the clearest, then the first. */
    function mostSaid(said) {
      var weights = {}, best = null, bestRank = 0;
      said.forEach(item => { weights[item.value] = (weights[item.value] || 0) + item.weight; });
      said.forEach(item => {
        var rank = -Math.sqrt(Math.min(3, weights[item.value])) * (numbers.even - Math.log(item.share));
        var first = best === null || (item.weight === best.weight ? item.start < best.start : item.weight > best.weight);
        if (best === null || rank < bestRank || (rank === bestRank && first)) {
          best = item;
          bestRank = rank;
        }
      });
      return best;
    }

    function* factsOf(parts) {
      var found = [];
      wordPatterns = wordPatterns || makeWords();
      for (var i = 0; i < wordPatterns.length; i++) {
        var fact = wordPatterns[i];
        var text = fact.setup ? parts.prose + "\n" + parts.setup : parts.prose;
        var said = yield* placesOf(text, fact), certainty = numbers.sure;
        if (!said.length) {
          text = parts.output;
          said = yield* shownIn(text, fact);
          certainty = numbers.shown;
        }
        if (!said.length) continue;
        var best = mostSaid(said), shown = certainty === numbers.sure ? yield* shownIn(parts.output, fact) : [];
        if (shown.some(one => one.value === best.value) && mostSaid(shown).value !== best.value) {
          text = parts.output;
          best = mostSaid(shown);
          said = said.concat(shown);
        }
        if (certainty === numbers.sure && (best.weight <= numbers.hint || said.some(one => one.value !== best.value))) {
          certainty = numbers.torn;
        }
        var low = text.lastIndexOf("\n", best.start - 1) + 1, high = text.indexOf("\n", best.end);
        if (best.start === 0) low = 0;
        var line = text.slice(low, high < 0 ? text.length : high);
        found.push(observed(
          fact.id + "=" + best.value, certainty,
          { text: quote(line, best.start - low, best.end - low), line: null },
          said.filter(item => item.value === best.value).length
        ));
      }
      return found;
    }

    /* Observations of one id put together: the surest first, the quotes of all. */
    function merge(observations) {
      var merged = new Map();
      observations.forEach(one => {
        var old = merged.get(one.id);
        if (!old) {
          merged.set(one.id, one);
          return;
        }
        var first = old.certainty >= one.certainty;
        var sure = first ? old : one, other = first ? one : old;
        merged.set(one.id, Object.assign({}, sure, {
          quotes: sure.quotes.concat(other.quotes).slice(0, numbers.quotes), count: sure.count + other.count
        }));
      });
      return Array.from(merged.values());
    }

    /* The facts that messages establish, for every fact that is not known yet; none where they contradict. */
    function concludedFacts(observations) {
      var known = new Set(), found = new Map();
      observations.forEach(one => {
        if (one.id.includes("=") && one.certainty > numbers.certainty) known.add(one.id.split("=")[0]);
      });
      observations.forEach(one => (concludes.get(one.id) || []).forEach(fact => {
        var name = fact.split("=")[0], values = found.get(name) || new Map();
        if (known.has(name)) return;
        found.set(name, values);
        if (values.has(fact)) return;
        var certainty = numbers.concluded * one.certainty;
        values.set(fact, Object.assign({}, one, { id: fact, source: "log", certainty: certainty, count: 1, quotes: one.quotes.slice(0, 1) }));
      }));
      return Array.from(found.values()).filter(values => values.size === 1).map(values => Array.from(values.values())[0]);
    }

    /* The text with the lines empty that only repeat that something failed elsewhere: their words tell of no cause. */
    function own(text, seen) {
      var numbered = new Set();
      seen.forEach(one => { if (echoes.has(one.id)) one.quotes.forEach(place => numbered.add(place.line)); });
      if (!numbered.size) return text;
      var kept = splitLines(text).map((line, index) => numbered.has(index + 1) ? "" : line).join("\n");
      return strip(kept) ? kept : text;
    }

    /* A report's observations, its text without echoes, what of it tells most by its wording, the error that nothing
       explains, and the lines whose messages are known by name. */
    function* read(text) {
      var parts = yield* takeApart(text);
      var seen = yield* signatures(parts);
      var chains = yield* tracebacks(parts.lines), traced = pasted(parts, chains);
      var facts = yield* factsOf(parts);
      var rest = own(text, seen);
      var told = yield* telling(rest === text ? parts : yield* takeApart(rest));
      var merged = merge(seen.concat(traced, facts)), numbers = feeds(text);
      var known = seen.filter(one => failures.has(one.id) || echoes.has(one.id));
      var named = new Set([].concat(...known.map(one => one.quotes.map(place => numbers[place.line - 1]))));
      return {
        observations: merge(merged.concat(concludedFacts(merged))), telling: told, own: rest, holdsOutput: holdsOutput(parts),
        unexplained: unexplained(chains, seen.concat(traced)), named: named
      };
    }

    /* The same without reading more of it than that takes. */
    function* asks(text) {
      return !isOutput(yield* takeApart(text));
    }

    return { read: read, quote: quote, asks: asks };
  };

  /* The patterns with those of what people say, each at its place: a log does without them. */
  distkb.withSaid = (data, said) => {
    var all = data.signatures.slice();
    said.forEach(one => { all.splice(one[0], 0, one[1]); });
    return Object.assign({}, data, { signatures: all });
  };

  /* Do all of it now. */
  distkb.finish = work => {
    var step = work.next();
    while (!step.done) step = work.next();
    return step.value;
  };
})();
