/** Compares the answers that a page shows with those that its commands print. */

/** IDs and times, which differ from run to run. */
const changing = /\d{9,}|[\da-f]{8}-[\da-f]{4}-[\da-f-]+/g

/** @returns the JSON lines of the sample that nothing in the output is like */
export function missingLines(sample: string, output: string): string[] {
  const printed = output.split('\n').flatMap(parsed).flatMap(withParts)
  return sample
    .trimEnd()
    .split('\n')
    .filter((line) => parsed(line).some((shown) => !printed.some((each) => isLike(shown, each))))
}

function parsed(line: string): unknown[] {
  try {
    return [JSON.parse(line)]
  } catch {
    return []
  }
}

/** A value with all that is in it: a page may show a part of an answer. */
function withParts(value: unknown): unknown[] {
  const parts = typeof value === 'object' && value !== null ? Object.values(value) : []
  return [value, ...parts.flatMap(withParts)]
}

/** Whether a value is that of the sample, in which `…` stands for any text and large numbers for any. */
function isLike(shown: unknown, value: unknown): boolean {
  if (shown === '…') return true
  if (typeof shown === 'number' && typeof value === 'number')
    return shown === value || (shown > 1e9 && value > 1e9)
  if (typeof shown === 'string' && typeof value === 'string')
    return shown.replaceAll(changing, '#') === value.replaceAll(changing, '#')
  if (typeof shown !== 'object' || typeof value !== 'object' || shown === null || value === null)
    return shown === value
  const [expected, got] = [Object.entries(shown), new Map(Object.entries(value))]
  const isSame = Array.isArray(shown) === Array.isArray(value)
  return isSame && expected.every(([key, each]) => got.has(key) && isLike(each, got.get(key)))
}
