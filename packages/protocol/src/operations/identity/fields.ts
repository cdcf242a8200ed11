/** The subjects of issuers, as parameters. */
import { controlCharacters, string } from '../../schema.js'

function identityText(description: string, example: string) {
  return string({
    description: `${description}: 1 to 255 bytes in UTF-8 without control characters, compared byte for byte`,
    minLength: 1,
    maxBytes: 255,
    pattern: `^[^${controlCharacters}]*$`,
    form: 'a text without control characters',
    examples: [example],
  })
}

/** A user as another system knows it. */
export const identity = {
  issuer: identityText('the system that knows the user by the subject', 'app'),
  subject: identityText('the ID of the user in the system of the issuer', '4711'),
}

/** A proof of another system that it knows the user (rule C10). */
export const assertion = string({
  description: 'JWT of the issuer, in the compact form',
  minLength: 1,
  maxLength: 8_192,
})

/**
 * Returns the violations of parameters that name one user: by one of the names, or by issuer and
 * subject.
 */
export function userFaults(
  params: Readonly<Record<string, unknown>>,
  ...names: readonly string[]
): string[] {
  return namingFaults(params, names, 'subject')
}

/** The same for parameters that name many users: by a list of IDs, of names, or of subjects. */
export function lookUpFaults(params: Readonly<Record<string, unknown>>): string[] {
  return namingFaults(params, ['user_ids', 'names'], 'subjects')
}

function namingFaults(
  params: Readonly<Record<string, unknown>>,
  names: readonly string[],
  subject: 'subject' | 'subjects',
): string[] {
  const { issuer, [subject]: named } = params
  const faults: string[] = []
  if ((issuer === undefined) !== (named === undefined))
    faults.push(`${issuer === undefined ? 'issuer' : subject} is required`)
  const given = [...names.map((name) => params[name]), issuer ?? named]
  if (given.filter((value) => value !== undefined).length !== 1)
    faults.push(`${names.join(', ')} or issuer with ${subject} must be given, and no other of them`)
  return faults
}
