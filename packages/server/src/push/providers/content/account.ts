import { scalarText } from '../../../lib/json.js'
import { badCertificate, type FieldReader } from '../runtime/credentials.js'
import { answerObject } from './answers.js'

/** Members of the files of service accounts; a file without any of them is another one. */
const usualMembers = ['client_email', 'private_key', 'project_id', 'sub_account']

/** The JSON file of a service account. */
export class ServiceAccount {
  readonly #members: Readonly<Record<string, unknown>>

  /** @throws CredentialError when the text is missing, or of no service account */
  constructor(
    text: string,
    private readonly fields: FieldReader,
  ) {
    if (text.trim() === '') throw badCertificate('is missing: the JSON file of a service account')
    this.#members = answerObject(text)
    if (!usualMembers.some((name) => Object.hasOwn(this.#members, name)))
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
