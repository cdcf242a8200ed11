import { cutText } from '../../../lib/cut-text.js'

type NotedText = 'title' | 'body' | 'big_text'

/** Changes that a channel made to the content of a notification, for the trace. */
export class ContentNotes {
  readonly #members = new Map<string, string>()
  readonly #others = new Set<string>()

  /** Notes a member of `ext` that the message lacks. */
  leftOut(member: string): void {
    this.#members.set(member, `ext.${member} left out`)
  }

  /** Notes a member of `ext` that the message has under another name. */
  renamed(member: string, name: string): void {
    this.#members.set(member, `ext.${member} sent as ext.${name}`)
  }

  /** Notes that a click opens the app, since the intent is too long for the channel. */
  intentLeftOut(): void {
    this.#others.add('intent left out')
  }

  /** Notes a text of which the device gets the beginning. */
  shortened(text: NotedText): void {
    this.#others.add(`${text} shortened`)
  }

  /** Returns the beginning of a displayed text, see {@link cutText}. */
  cut(name: NotedText, text: string, maxCodeUnits: number): string {
    const part = cutText(text, maxCodeUnits)
    if (part !== text) this.shortened(name)
    return part
  }

  /** A phrase for each change; [] for none. */
  get changes(): readonly string[] {
    return [...this.#members.values(), ...this.#others]
  }
}
