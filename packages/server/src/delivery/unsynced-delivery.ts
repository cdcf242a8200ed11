import { textFrame } from '../sessions/frames.js'
import type { Delivery, SyncState } from './delivery.js'

const empty = textFrame('{}')

/** A delivery without events: each session has to sync. */
export class UnsyncedDelivery implements Delivery {
  async enter(): Promise<SyncState> {
    return { sync: 'needed', pos: null }
  }

  begin(): void {}

  drained(): void {}

  leave(): void {}

  heartbeat(): Buffer {
    return empty
  }
}
