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

  /** Returns a member as text, "" when it is missing. */
  optional(name: string): string {
    return scalarText(this.#members[name]).trim()
  }

  /** Returns a member that the account needs. Records a fault when it is missing. */
  required(name: string): string {
    const value = this.optional(name)
    if (value === '') this.fields.note('certificate', `has no ${name} in its service account`)
    return value
  }
}
