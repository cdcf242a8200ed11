/** The subjects of issuers, as parameters. */
import { string } from '../../schema.js'

const maxBytes = 255
const form = `1 to ${maxBytes} bytes without control characters, compared byte for byte`

function identityText(description: string, example: string) {
  return string({
    description: `${description}: ${form}`,
    minLength: 1,
    maxLength: maxBytes,
    pattern: '^[^\\p{Cc}]*$',
    form: 'a text without control characters',
    examples: [example],
  })
}

/** The system that knows the user by the subject. */
export const issuer = identityText('the system that knows the user by the subject', 'app')
/** The ID of the user in the system of the issuer. */
export const subject = identityText('the ID of the user in the system of the issuer', '4711')

/** Returns the violations of issuer and subject that their schemas cannot express. */
export function identityFaults(params: Readonly<Record<string, unknown>>): string[] {
  return ['issuer', 'subject']
    .filter((name) => {
      const text = params[name]
      return typeof text === 'string' && utf8Bytes(text) > maxBytes
    })
    .map((name) => `${name} must have at most ${maxBytes} bytes in UTF-8`)
}

function utf8Bytes(text: string): number {
  let bytes = 0
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4
  }
  return bytes
}

/** Returns the violations of parameters that name one user: by ID, by username where there is one, or by subject. */
export function userFaults(
  params: Readonly<Record<string, unknown>>,
  ...names: readonly string[]
): string[] {
  const { issuer, subject } = params
  const faults = identityFaults(params)
  if ((issuer === undefined) !== (subject === undefined))
    faults.push(`${issuer === undefined ? 'issuer' : 'subject'} is required`)
  const given = [...names.map((name) => params[name]), issuer ?? subject]
  if (given.filter((value) => value !== undefined).length !== 1)
    faults.push(
      `${names[0]} must be given, or ${[...names.slice(1), 'issuer with subject'].join(', or ')}; exactly one of them`,
    )
  return faults
}
