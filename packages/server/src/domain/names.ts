/** What names may hold that one user gives and others see (rules D1, D1b). */
import { AppError } from '@hermod/protocol'

// Also the two separators of lines and paragraphs: a name is one line wherever it is shown.
const breaksLine = /[\p{Cc}\p{Zl}\p{Zp}]/u
/** Characters of which nothing is seen; U+2800 is a braille cell without dots. */
const unseen = /[\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}\u2800]/gu
/** Embeddings and overrides of the direction of a text, isolates, and the two characters that end them (UAX #9). */
const directions = /[\u202a-\u202e\u2066-\u2069]/g
const endOfOverride = '\u202c'
const endOfIsolate = '\u2069'

/**
 * A name may be empty, which means that there is none; else something of it is seen, it is one line, and it leaves the direction of the
 * text around it alone.
 * @returns what is wrong with a name, or null
 */
export function nameViolation(name: string, field: string): string | null {
  if (breaksLine.test(name)) return `${field} must not contain control characters`
  if (!endsItsDirections(name)) return `${field} must end every change of the direction of its text`
  if (name !== '' && name.replace(unseen, '') === '')
    return `${field} must be empty or contain a character that is seen`
  return null
}

/** @throws AppError invalid_parameter */
export function requireName(name: string, field: string): void {
  const violation = nameViolation(name, field)
  if (violation !== null) throw new AppError('invalid_parameter', violation)
}

function endsItsDirections(name: string): boolean {
  const open: string[] = []
  for (const [character] of name.matchAll(directions)) {
    const isEnd = character === endOfOverride || character === endOfIsolate
    if (!isEnd)
      open.push(character < endOfIsolate && character > '\u2065' ? endOfIsolate : endOfOverride)
    else if (open.pop() !== character) return false
  }
  return open.length === 0
}
