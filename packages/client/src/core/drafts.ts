import type { StoredState } from '../ports/store.js'
import type { CoreContext } from './core-context.js'
import type { Command } from './inputs.js'
import type { Part } from './part.js'
import { isDraft, draftKey } from '../model/draft-key.js'

/** Texts that the user has begun to write, by conversation. A reset of the store keeps them. */
export class Drafts implements Part {
  readonly #context: CoreContext
  readonly #texts = new Map<string, string>()

  constructor(context: CoreContext) {
    this.#context = context
  }

  start({ cached }: StoredState): void {
    for (const { key, value } of cached)
      if (isDraft(key) && value !== '') this.#texts.set(key, String(value))
  }

  reset(): void {
    for (const [key, value] of this.#texts) this.#put(key, value)
  }

  /** @returns false: the command belongs to another part */
  command(id: string, command: Command): boolean {
    if (command.type !== 'draft') return false
    const key = draftKey(command.conversationId)
    if ((this.#texts.get(key) ?? '') !== command.text) {
      if (command.text === '') this.#texts.delete(key)
      else this.#texts.set(key, command.text)
      this.#put(key, command.text)
    }
    this.#context.afterCommit(() => this.#context.emit({ type: 'result', id, value: undefined }))
    return true
  }

  #put(key: string, value: string): void {
    this.#context.batch.putCachedRead({ key, value, isStale: false })
  }
}
