import { scalarText } from '../../../lib/json.js'
import { badCertificate, type FieldReader } from '../runtime/credentials.js'
import { jsonObject } from './answers.js'

/** The JSON file of a service account. */
export class ServiceAccount {
  readonly #members: Readonly<Record<string, unknown>>

  /** @throws CredentialError when the text is no JSON object */
  constructor(
    text: string,
    private readonly fields: FieldReader,
  ) {
    this.#members = jsonObject(text)
    if (Object.keys(this.#members).length === 0)
      throw badCertificate('is not the JSON file of a service account')
  }

  /** "" when it is not there. */
  optional(name: string): string {
    return scalarText(this.#members[name]).trim()
  }

  /** A member without which the account is of no use; its absence is noted. */
  required(name: string): string {
    const value = this.optional(name)
    if (value === '') this.fields.note('certificate', `has no ${name} in its service account`)
    return value
  }
}
