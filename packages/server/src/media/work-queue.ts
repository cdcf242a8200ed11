import type { Readable } from 'node:stream'
import { Slots } from '../lib/concurrency/slots.js'
import { MediaError } from './media.js'

/** Bounds the conversions that run and wait. */
export class WorkQueue {
  readonly #slots: Slots

  constructor(options: { readonly parallel: number; readonly maxWaiting: number }) {
    this.#slots = new Slots({
      ...options,
      full: () => new MediaError('busy', 'too many files wait to be converted'),
    })
  }

  /**
   * Reads the source when a slot is free, and destroys it at the end.
   *
   * @throws MediaError busy
   */
  async run<Result>(source: Readable, work: () => Promise<Result>): Promise<Result> {
    // The source may fail while it waits; reading it then fails too.
    source.on('error', () => {})
    try {
      return await this.#slots.run(work)
    } finally {
      source.destroy()
    }
  }
}
