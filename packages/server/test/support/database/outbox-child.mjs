/**
 * A node that writes facts and follows them until it is killed. Its only argument is JSON: the
 * database, the names of the keys that it alone writes, and where their numbers begin. It says on a
 * line of its own what was answered (`did <key> <number>`), and what its consumer got (`saw
 * <position> <key> <number>`, before it confirms).
 */
import { actorEvent } from '@hermod/protocol/events'
import { Database } from '../../../dist/db/database.js'
import { postgresDialect } from '../../../dist/db/dialect/postgres.js'
import { sqliteDialect } from '../../../dist/db/dialect/sqlite.js'
import { IdReservations } from '../../../dist/db/id-reservations.js'
import { StoredMessages } from '../../../dist/domain/messaging/log/stored-messages.js'
import { directConversation } from '../../../dist/domain/messaging/model/conversation-model.js'
import { MessageWriter } from '../../../dist/domain/messaging/sending/message-writer.js'
import { systemClock as clock } from '../../../dist/lib/clock.js'
import { IdGenerator } from '../../../dist/lib/ids/ids.js'
import { LiveNode } from '../../../dist/nodes/live-node.js'
import { LiveShares } from '../../../dist/nodes/live-shares.js'
import { NodeStore } from '../../../dist/nodes/node-store.js'
import { ShareStore } from '../../../dist/nodes/share-store.js'
import { soleShares } from '../../../dist/nodes/shares.js'
import { Outbox } from '../../../dist/outbox/outbox.js'
import { OutboxStore } from '../../../dist/outbox/outbox-store.js'
import { OutboxRelay } from '../../../dist/outbox/relay.js'

const appId = 'app'
const { path, url, node, keys, from } = JSON.parse(process.argv[2])
const say = (line) => process.stdout.write(`${line}\n`)

const database = new Database(
  url ? postgresDialect({ url, poolSize: 8, onError: () => {} }) : sqliteDialect(path),
)
const store = new OutboxStore(database)
const consumer = {
  name: 'test',
  async handle(events) {
    for (const { position, payload } of events) {
      const text = payload.content ?? payload.value ?? payload.properties[0]
      say(`saw ${position} ${text}`)
    }
  },
  async missed() {
    say('missed')
  },
}
const failed = (error) => say(`failed ${error.message}`)
const live = new LiveNode({
  id: node,
  store: new NodeStore(database),
  facts: { version: '1', schema: 1, host: 'test', pool: 8, settings: {} },
  renewId: () => node,
  clock,
  observer: { clockDiffers() {}, ended() {}, lost() {}, failed },
})
const shares = url
  ? new LiveShares({ node: live, store: new ShareStore(database), failed })
  : soleShares
const relay = new OutboxRelay({
  database,
  store,
  messages: new StoredMessages(database),
  shares,
  consumers: [consumer],
  observer: {
    lagging() {},
    reached() {},
    missed() {},
    failed: (_consumer, _app, error) => say(`failed ${error.message}`),
  },
  pollMs: 200,
})
const appended = (app) => relay.wake(app)
const outbox = new Outbox({ database, store, clock, appended })
const writer = new MessageWriter({
  reached() {},
  database,
  handOver: { wants: () => false, handOver() {} },
  ids: new IdGenerator(new IdReservations(database).reserve, clock.now),
  clock,
  transactionLifeMs: 3_600_000,
  maxBatchMessages: 256,
  maxQueuedMessages: 10_000,
  maxQueuedBytes: 100_000_000,
  observer: { finished() {}, refused() {} },
  outbox,
  appended,
})

/**
 * A key is a conversation, a group or a user; its writer waits for each answer, so that its order
 * is known.
 */
async function write(key, index) {
  const [kind] = key.split(':')
  for (let number = from; ; number++) {
    const text = `${key} ${number}`
    if (kind === 'conversation') {
      const conversation = directConversation(appId, 1_000 + index, 2_000 + index)
      const draft = {
        conversation,
        senderId: conversation.lowId,
        senderDeviceSn: 0,
        contentType: 0,
      }
      const texts = { content: text, attachment: '', config: '', ext: '', isSystem: false }
      await writer.write({ transactionId: null, drafts: [{ ...draft, ...texts }] })
    } else
      await database.transaction(async (tx) => {
        const about = { appId, actorId: 0, userIds: [3_000 + index] }
        const inGroup = { group_id: 4_000 + index, property: 'name', value: text }
        outbox.append(
          tx,
          kind === 'group'
            ? actorEvent('group.info_updated', about, inGroup)
            : actorEvent('user.info_updated', about, { properties: [text] }),
        )
      })
    say(`did ${text}`)
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 5))
  }
}

if (url) await live.start()
await shares.start()
await relay.start()
say('started')
await Promise.all(keys.map(write))
