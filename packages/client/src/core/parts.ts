import { conversationOf, kindOf } from '../model/log-key.js'
import type { LogKey } from '../model/records.js'
import type { LogAccess } from './access.js'
import { CachedReads } from './cached-reads/cached-reads.js'
import type { CoreContext } from './core-context.js'
import { Drafts } from './drafts.js'
import { Logs } from './logs/logs.js'
import { spreadMs } from './outcomes.js'
import { ServiceFeatures } from './service-features.js'
import type { Part } from './part.js'
import { Presence } from './presence/presence.js'
import { Receipts } from './presence/receipts.js'
import { Typing } from './presence/typing.js'
import { History } from './sync/history.js'
import { Latest } from './sync/latest.js'
import { MissingQuotes } from './sync/missing-quotes.js'
import { Reads } from './sync/reads.js'
import { Streams } from './streams/streams.js'
import { Sync } from './sync/sync.js'
import { Wishes } from './wishes.js'
import { Unsent } from './unsent/unsent.js'

/** Creates the parts behind Link and Calls, in the order in which they hear of inputs. */
export function createParts(context: CoreContext): readonly Part[] {
  const access: LogAccess = {
    get: (key) => logs.get(key),
    needHead: (key, done) => sync.needHead(key, done),
    setDelivered: (key, seq) => logs.setDelivered(key, seq),
  }
  const unsent = new Unsent(context, access)
  const cachedReads = new CachedReads(context)
  const receipts = new Receipts(context, access)
  const streams = new Streams(context, {
    onScreen: () => sync.onScreen,
    memberCount: (groupId) => cachedReads.memberCount(groupId),
  })
  const logs: Logs = new Logs(context, {
    unsent,
    receipts,
    streams,
    headNeeded: (key, wait) => sync.headNeeded(key, wait),
    lastUnknown: (key) => latest.need(key),
    onScreen: () => sync.onScreen,
  })
  const spread = (key: LogKey) =>
    spreadMs(
      context,
      kindOf(key) === 'group' ? cachedReads.memberCount(conversationOf(key, context.me)) : 0,
    )
  const sync: Sync = new Sync(context, logs, { cachedReads, spreadMs: spread })
  const history = new History(context, logs, (key, done) => sync.needHead(key, done))
  const latest: Latest = new Latest(context, logs, { history, spreadMs: spread })
  return [
    logs,
    sync,
    history,
    latest,
    new MissingQuotes(context, logs, spread),
    new Reads(context, logs),
    unsent,
    cachedReads,
    new Presence(context),
    new Typing(context),
    new Drafts(context),
    new Wishes(context),
    new ServiceFeatures(context),
    receipts,
    streams,
  ]
}
