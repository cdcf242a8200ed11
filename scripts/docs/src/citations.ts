/**
 * Citations of the numbered rules of docs/reference/behaviour.md and of sections of pages. Each
 * must lead to an existing place, and no text for callers of the API may cite a rule. Pure;
 * generate.ts reads the files.
 */

/** A text and its place, for reports. */
export interface CitingText {
  readonly path: string
  readonly text: string
}

const number = '[A-Z]\\d+[a-z]?'
// "rule E5", "rules C5, E8a, E10 to E12", "rules A2 and A2a"; comments break lines anywhere.
const citation = new RegExp(
  `\\b(?:rules?|decisions?)(?:\\s|\\*)+(${number}(?:(?:,|\\s|\\*|and|to|or)+${number})*)\\b`,
  'gi',
)
// `docs/reference/behaviour.md, "D. Users"`.
const section = /(?<![\w/])([\w.-]+(?:\/[\w.-]+)*\.md),(?:\s|\*)+"([^"\n]+)"/g
const heading = /^#+ (.+)$/gm
// A numbered document, and a heading or a topic of the contract: no page of the repository.
const outside = /\b[Dd]ocument [1-9]\b|\b[Cc]ontract,(?:\s|\*)+"|\bContract:\s/
const stated = new RegExp(`^[#*\\-| ]*\\**(${number})\\b`, 'gm')
const literal = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g
const errorText = /\bAppError\(\s*'[a-z_]+',\s*/g

/** The rules that a page states: items and headings that begin with their number. */
export function statedRules(page: string): ReadonlySet<string> {
  return new Set([...page.matchAll(stated)].map(([, rule]) => rule as string))
}

/** The rules that a text cites, in order; of "C1 to C7" the two ends. */
export function citedRules(text: string): string[] {
  return [...text.matchAll(citation)].flatMap(
    ([, list = '']) => list.match(new RegExp(number, 'g')) ?? [],
  )
}

/** @returns a line for each broken citation */
export function danglingCitations(
  texts: readonly CitingText[],
  rules: ReadonlySet<string>,
): string[] {
  return texts.flatMap(({ path, text }) => [
    ...[...new Set(citedRules(text))]
      .filter((rule) => !rules.has(rule))
      .map(
        (rule) => `${path} cites rule ${rule}, which docs/reference/behaviour.md does not state`,
      ),
    ...(outside.test(text) ? [`${path} cites a document that is not in the repository`] : []),
  ])
}

/**
 * @param pages by their paths in the repository
 * @returns a line for each cited section that does not exist
 */
export function danglingSections(
  texts: readonly CitingText[],
  pages: Readonly<Record<string, string>>,
): string[] {
  return texts.flatMap(({ path, text }) =>
    [...text.matchAll(section)]
      .filter(([, page = '', name = '']) => !headingsOf(pages[page]).has(name))
      .map(([, page, name]) => `${path} cites "${name}" of ${page}, which is not there`),
  )
}

function headingsOf(page = ''): ReadonlySet<string> {
  return new Set([...page.matchAll(heading)].map(([, name]) => name as string))
}

/**
 * @returns a line for each text of an error that cites a rule: callers see it, and cannot look the
 * rule up
 */
export function citingErrors(
  catalogue: Readonly<Record<string, { readonly text: string }>>,
  sources: readonly CitingText[],
): string[] {
  const texts = Object.entries(catalogue)
    .filter(([, { text }]) => citedRules(text).length > 0)
    .map(([name]) => `the text of error ${name} cites a rule`)
  const details = sources
    .filter(({ text }) => detailsOf(text).some((detail) => citedRules(detail).length > 0))
    .map(({ path }) => `${path} cites a rule in the detail of an AppError`)
  return [...texts, ...details]
}

/** The literals that follow the name in `new AppError('name', …)`, up to the end of the statement. */
function detailsOf(source: string): string[] {
  return [...source.matchAll(errorText)].flatMap(({ 0: { length }, index }) => {
    const rest = source.slice(index + length, index + length + 500)
    return (
      rest
        .slice(0, rest.indexOf('\n\n') + 1 || undefined)
        .match(literal)
        ?.slice(0, 1) ?? []
    )
  })
}
