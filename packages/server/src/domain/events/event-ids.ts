import { createHash } from 'node:crypto'
import type { Histories } from '../../db/identity/histories.js'
import type { LoggedEvent } from './logged-event.js'

/**
 * The IDs of events, by which receivers drop repetitions: evt_<app>_<position>, for messages
 * evt_<app>_<position>_<msg_id>. Positions that were committed after the database was restored have
 * a mark of their history before the position, since the lost history may have used them too
 * (docs/decisions/074-histories.md).
 */
export class EventIds {
  readonly #marks = new Map<string, string>()

  constructor(private readonly histories: Pick<Histories, 'epochOf' | 'first'>) {}

  of(appId: string, { position, name }: Pick<LoggedEvent, 'position' | 'name'>): string {
    const mark = this.#mark(this.histories.epochOf(appId, position))
    return ['evt', appId, mark, position, name].filter((part) => part !== '').join('_')
  }

  /** Returns the mark of an epoch; '' for the first one. */
  #mark(epoch: string): string {
    if (epoch === this.histories.first) return ''
    const mark = this.#marks.get(epoch) ?? historyMark(epoch)
    this.#marks.set(epoch, mark)
    return mark
  }
}

/**
 * Returns 6 capital letters of the hash of an epoch. No other part of an ID has capitals, so that no
 * ID of another application or history looks the same.
 */
export function historyMark(epoch: string): string {
  const hash = createHash('sha256').update(epoch).digest()
  return String.fromCharCode(...hash.subarray(0, 6).map((byte) => 65 + (byte % 26)))
}
