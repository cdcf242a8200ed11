/** Rules for names that users choose and others see (rules D1, D1b). */
import { AppError } from '@hermod/protocol'

// Includes the separators of lines and paragraphs: a name is one line wherever it is shown.
const breaksLine = /[\p{Cc}\p{Zl}\p{Zp}]/u
/** Invisible characters; U+2800 is a braille cell without dots. */
const unseen = /[\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}\u2800]/gu
/**
 * Embeddings, overrides and isolates of text direction, with the two characters that end them (UAX
 * #9).
 */
const directions = /[\u202a-\u202e\u2066-\u2069]/g
const endOfOverride = '\u202c'
const endOfIsolate = '\u2069'

/**
 * Checks a name. It may be empty, which means no name. Otherwise it is visible, has one line, and
 * does not change the direction of the text around it.
 * @returns the violation, or null
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
