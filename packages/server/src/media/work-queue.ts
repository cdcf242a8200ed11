import type { Readable } from 'node:stream'
import { Slots } from '../lib/concurrency/slots.js'
import { MediaError } from './media.js'

/** Conversions one after another; few wait. */
export class WorkQueue {
  readonly #slots: Slots

  constructor(options: { readonly parallel: number; readonly maxWaiting: number }) {
    this.#slots = new Slots({
      ...options,
      full: () => new MediaError('busy', 'too many files wait to be converted'),
    })
  }

  /**
   * The source is not read before its turn, and destroyed in the end.
   *
   * @throws MediaError busy
   */
  async run<Result>(source: Readable, work: () => Promise<Result>): Promise<Result> {
    // It may fail while it waits; the one that reads it is told then.
    source.on('error', () => {})
    try {
      await this.#slots.enter()
      try {
        return await work()
      } finally {
        this.#slots.leave()
      }
    } finally {
      source.destroy()
    }
  }
}
