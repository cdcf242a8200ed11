/**
 * The search of the reference page, without the page.
 *
 * @typedef {{ anchor: string, kind: string, name: string, text: string }} Part what can be found
 *   within an entry: a field, an error or a text
 * @typedef {{ anchor: string, names: string, summary: string, parts: readonly Part[] }} Entry an
 *   operation or an error of the catalogue; its names are words such as the path
 * @typedef {{ score: number, part: Part | null }} Hit the part is null where names and summary are
 *   reason enough
 */

/** Returns the words of a query, all of which an entry must have. @param {string} query */
export function wordsOf(query) {
  return query.toLowerCase().split(/\s+/).filter(Boolean)
}

/**
 * Prepares entries for many searches.
 * @param {readonly Entry[]} entries
 * @returns {(words: readonly string[]) => (Hit | null)[]} the hit of each entry; null: none
 */
export function searchIn(entries) {
  const prepared = entries.map((entry) => ({
    names: entry.names.toLowerCase(),
    title: `${entry.names}\n${entry.summary}`.toLowerCase(),
    all: [entry.names, entry.summary, ...entry.parts.map(({ name, text }) => `${name}\n${text}`)]
      .join('\n')
      .toLowerCase(),
    parts: entry.parts.map((part) => ({
      part,
      name: part.name.toLowerCase(),
      text: `${part.name}\n${part.text}`.toLowerCase(),
    })),
  }))
  return (words) =>
    prepared.map((entry) =>
      words.every((word) => entry.all.includes(word)) ? hit(entry, words) : null,
    )
}

/** Scores: a name, words of names, the summary; the name of a part, words of it, its text. */
function hit({ names, title, parts }, words) {
  const rest = words.filter((word) => !title.includes(word))
  if (rest.length === 0) {
    if (words.every((word) => names.split(/\s+/).includes(word))) return { score: 6, part: null }
    return { score: words.every((word) => names.includes(word)) ? 5 : 4, part: null }
  }
  let best = { score: 0, part: null, found: 0 }
  for (const { part, name, text } of parts) {
    const found = rest.filter((word) => text.includes(word)).length
    if (found === 0 || found < best.found) continue
    const score = partScore(name, rest)
    if (found > best.found || score > best.score) best = { score, part, found }
  }
  // Words of the title count less than a better part.
  return { score: best.score + (words.length - rest.length) / (words.length + 1), part: best.part }
}

function partScore(name, words) {
  if (words.some((word) => name === word || name.endsWith(`.${word}`))) return 3
  return words.some((word) => name.includes(word)) ? 2 : 1
}

/** Returns the index of the best hit, the first of equals; -1: there is none. @param {(Hit | null)[]} hits */
export function bestOf(hits) {
  let best = -1
  for (const [index, each] of hits.entries())
    if (each && each.score > (hits[best]?.score ?? 0)) best = index
  return best
}

/** Characters of a text that are shown around a word. */
const around = 36

/**
 * Returns the piece of a text around the first of the words, in three parts; the middle one is the word.
 * @param {string} text
 * @param {readonly string[]} words
 * @returns {[string, string, string]}
 */
export function excerpt(text, words) {
  const lower = text.toLowerCase()
  // Lower case may have another length, and then the place of a word is not known.
  const places = lower.length === text.length ? words.map((word) => lower.indexOf(word)) : []
  const found = places.findIndex((place) => place >= 0)
  if (found < 0) return [text.length > 2 * around ? `${text.slice(0, 2 * around)}…` : text, '', '']
  const start = places[found]
  const end = start + words[found].length
  const from = Math.max(0, start - around)
  const to = Math.min(text.length, end + around)
  return [
    `${from > 0 ? '…' : ''}${text.slice(from, start)}`,
    text.slice(start, end),
    `${text.slice(end, to)}${to < text.length ? '…' : ''}`,
  ]
}
