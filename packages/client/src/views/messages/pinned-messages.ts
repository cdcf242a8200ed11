import type { Message, View } from '../../api.js'
import type { MessageRecord } from '../../model/records.js'
import { wishesKey, wishesOf } from '../../model/wishes.js'
import type { Clock } from '../../ports/clock.js'
import type { ConversationKind, ConversationParts } from '../conversation-parts.js'
import { type Hub, isSameList, shareList } from '../hub.js'
import type { Interests } from '../interests.js'
import { cachedValueOf } from '../users.js'
import { createView } from '../view.js'
import { type Composed, composeMessages } from './compose-messages.js'
import { PinnedRecords } from './pinned-records.js'
import { quotesOfList } from './shown-quotes.js'

/** Members of a group that was not read. */
const supposedMembers = 1_000

/** Parts of a client that pinned messages use. */
interface PinnedMessagesOptions {
  readonly id: number
  readonly kind: ConversationKind
  readonly parts: ConversationParts
  readonly interests: Interests
  readonly clock: Clock
  /** Reads the pinned messages from the server. @throws ClientError */
  readonly read: () => Promise<readonly MessageRecord[]>
}

/** Makes the view of the pinned messages of one conversation, the newest pin first. */
export function createPinnedMessages(
  hub: Hub,
  { id, kind, parts, interests, clock, read }: PinnedMessagesOptions,
): View<readonly Message[] | undefined> {
  const { session } = hub
  const key = () => parts.keys(id, kind)[0] as string
  const memberCount = () => {
    const group = cachedValueOf<{ readonly count?: number }>(session.state, `group.${id}`)
    return kind === 'group' ? (group?.count ?? supposedMembers) : 0
  }
  const changed = () => view.refresh()
  const records = new PinnedRecords(hub, { key, read, memberCount, clock, changed })
  const quotesOf = quotesOfList(hub)
  let composed: Composed = new Map()
  let lastInputs: readonly unknown[] = []

  const view = createView<readonly Message[] | undefined>(hub, {
    initial: undefined,
    compute(former) {
      const { rows } = records
      if (!rows) return undefined
      const { me } = hub
      const { live, cached, logs } = session.state
      const { uploads, streams } = live
      const alterations = parts.alterations(id, kind)
      const wishes = cached.get(wishesKey)
      const record = logs.get(key())
      const inputs = [rows, me, streams, alterations, wishes, record]
      if (former && isSameList(lastInputs, inputs)) return former
      lastInputs = inputs
      const stored = Array.from(rows.values(), (each) => ({ record: each, window: { record } }))
      composed = composeMessages(stored, [], {
        ...{ me, uploads, streams, alterations, wishes: wishesOf(wishes), keyOfUnsent: key() },
        ...{ quotes: quotesOf([]), former: composed },
      })
      const messages = Array.from(composed.values(), ({ message }) => message)
      const pinned = messages.filter((each) => each.pinned)
      return shareList(
        former,
        pinned.sort((a, b) => pinnedAt(b) - pinnedAt(a)),
      )
    },
    start() {
      const endRecords = records.watch()
      const reads = () => (kind === 'group' ? [`group.${id}`] : [])
      const endInterest = interests.add({ rank: 1, reads })
      return () => {
        endRecords()
        endInterest()
      }
    },
  })
  return view
}

/** A pin that the server does not have yet is the newest. */
function pinnedAt({ pinned }: Message): number {
  return pinned?.at || Number.POSITIVE_INFINITY
}
