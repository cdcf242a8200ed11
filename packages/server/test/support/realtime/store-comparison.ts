/** Compares the store of a client with the server's own answers over HTTP. */
import { userChangeKind } from '@hermod/protocol'
import type { Api, Json } from '@hermod/testkit'
import { history, unreadCounts } from '../messaging/messaging.js'
import { allHeads } from './all-heads.js'
import type { ClientStore } from './client-store.js'
import { keyOf, type LogCopy } from './log-copy.js'

const kinds = userChangeKind

/** The people and groups of a test. */
export interface Surroundings {
  readonly userIds: readonly number[]
  readonly groupIds: readonly number[]
}

/** @returns the differences, in words; [] when the store equals the answers */
export async function differences(store: ClientStore, api: Api): Promise<string[]> {
  const heads = new Map((await allHeads(api)).map((head) => [keyOf(head.log), head]))
  const found: string[] = []
  for (const [key, head] of heads) found.push(...headDifferences(store.logs.get(key), head))
  for (const [key, copy] of store.logs)
    if (!heads.has(key) && copy.change > 0) found.push(`log ${key} is not the user's`)
  found.push(...(await unreadDifferences(store, api)))
  for (const peer of peersOf(store)) found.push(...(await historyDifferences(store, api, peer)))
  return found.map((each) => `user ${store.userId}: ${each}`)
}

function headDifferences(copy: LogCopy | undefined, head: Json): string[] {
  const key = keyOf(head.log)
  if (!copy) return head.change > 0 ? [`log ${key} is missing`] : []
  const isDirect = head.kind === 'direct'
  const pairs: [string, unknown, unknown][] = [
    ['change', copy.change, head.change],
    ['seq', copy.seq, head.seq],
    ['unread', copy.unread, head.unread],
    ['hidden_msg_id', copy.hiddenId, head.hidden_msg_id],
    ['read_seq', copy.readSeq, head.read_seq],
    ...(isDirect
      ? ([
          ['peer_read_seq', copy.peerReadSeq, head.peer_read_seq],
          ['peer_delivered_seq', copy.peerDeliveredSeq, head.peer_delivered_seq],
        ] as [string, unknown, unknown][])
      : []),
    ...(head.version === undefined
      ? []
      : ([['version', copy.version, head.version]] as [string, unknown, unknown][])),
  ]
  return pairs
    .filter(([, own, server]) => own !== server)
    .map(([name, own, server]) => `log ${key}: ${name} is ${own} instead of ${server}`)
}

async function unreadDifferences(store: ClientStore, api: Api): Promise<string[]> {
  const counts = await unreadCounts(api)
  const found: string[] = []
  const own = new Map<number, number>()
  for (const copy of store.logs.values()) {
    const peer = peerOf(copy, store.userId)
    own.set(peer, (own.get(peer) ?? 0) + copy.unread)
  }
  for (const peer of new Set([...own.keys(), ...Object.keys(counts).map(Number)]))
    if ((own.get(peer) ?? 0) !== (counts[peer] ?? 0))
      found.push(`${own.get(peer)} instead of ${counts[peer]} unread with ${peer}`)
  return found
}

function peerOf({ log }: LogCopy, userId: number): number {
  return log.high_id === userId && log.low_id >= 0 ? log.low_id : log.high_id
}

function peersOf(store: ClientStore): Set<number> {
  return new Set([...store.logs.values()].map((copy) => peerOf(copy, store.userId)))
}

async function historyDifferences(store: ClientStore, api: Api, peer: number): Promise<string[]> {
  const copies = [...store.logs.values()].filter((copy) => peerOf(copy, store.userId) === peer)
  // Below it the store has holes, which an app fills when it shows them.
  const from = Math.max(...copies.map(({ floorId }) => floorId))
  const shown = (await history(api, peer))
    .map(({ msg_id, from_xid, content }) => `${msg_id} ${from_xid.uid} ${content}`)
    .filter((line) => Number.parseInt(line, 10) > from)
  const held = copies
    .flatMap((copy) => [...copy.messages.values()])
    .filter(({ msgId }) => msgId > from)
    .map(({ msgId, sender, content }) => `${msgId} ${sender} ${content}`)
  const missing = shown.filter((line) => !held.includes(line))
  const wrong = held.filter((line) => !shown.includes(line))
  const twice = held.length - new Set(held).size
  return [
    ...missing.map((line) => `with ${peer} misses ${line}`),
    ...wrong.map((line) => `with ${peer} has ${line}, which the history does not show`),
    ...(twice > 0 ? [`with ${peer} has ${twice} messages twice`] : []),
  ]
}

/** The keys of everything that a client may have to read again, beside its logs. */
function keysOf({ userIds, groupIds }: Surroundings, ownId: number): string[] {
  const ofPeers = userIds
    .filter((id) => id !== ownId)
    .flatMap((id) => [`${kinds.contact}.${id}`, `${kinds.contactRequest}.${id}`])
  const ofGroups = groupIds.flatMap((id) =>
    [kinds.group, kinds.joinRequests, kinds.invitation].map((kind) => `${kind}.${id}`),
  )
  const own = [kinds.pins, kinds.settings, kinds.profile, kinds.devices].map((kind) => `${kind}.0`)
  return [...ofPeers, ...ofGroups, ...own]
}

/** Reads a thing anew, as text. */
async function readThing(api: Api, key: string, ownId: number): Promise<string> {
  const [kind, ref] = key.split('.').map(Number) as [number, number]
  const get = async (path: string, query: object = {}) => {
    const { code, data } = (await api.call('GET', path, { query: query as never })).envelope
    return code === 200 ? data : code
  }
  switch (kind) {
    case kinds.contact: {
      const { relation, alias, ext, mute_notification } = await get('/roster/id', { user_id: ref })
      const blocked: number[] = await get('/roster/blocked_list')
      const isBlocked = blocked.includes(ref)
      return JSON.stringify({ relation, alias, ext, mute_notification, isBlocked })
    }
    case kinds.contactRequest: {
      const list: Json[] = await get('/roster/apply/list')
      return JSON.stringify(list.filter(({ user_id }) => user_id === ref))
    }
    case kinds.group: {
      const list: Json[] | number = await get('/group/member_list', { group_id: ref })
      const member = Array.isArray(list) && list.find(({ user_id }) => user_id === ownId)
      const info = member ? await get('/group/info', { group_id: ref }) : {}
      const { msg_mute_mode, msg_push_mode, owner_id } = info
      const isOwner = owner_id === ownId
      return JSON.stringify({ member, msg_mute_mode, msg_push_mode, isOwner })
    }
    case kinds.joinRequests: {
      const body = { group_list: [ref] }
      const { data } = (await api.call('POST', '/group/application_list', { body })).envelope
      return JSON.stringify(data)
    }
    case kinds.invitation: {
      const list: Json[] = await get('/group/invitation_list')
      return JSON.stringify(list.filter(({ group_id }) => group_id === ref))
    }
    case kinds.pins:
      return JSON.stringify(await get('/user/conversation/pin_list'))
    case kinds.settings:
      return JSON.stringify(await get('/user/settings', { user_id: ownId }))
    case kinds.profile:
      return JSON.stringify(await get('/user/profile'))
    default:
      return JSON.stringify(await get('/user/device/list'))
  }
}

/** What all members see of a group; null for others. */
async function readGroup(api: Api, groupId: number): Promise<string | null> {
  const get = async (path: string) =>
    (await api.call('GET', path, { query: { group_id: groupId } })).envelope
  const members = await get('/group/member_list')
  if (members.code !== 200) return null
  const info = (await get('/group/info')).data
  const announcements = (await get('/group/announcement/list')).data
  const { msg_mute_mode: _mute, msg_push_mode: _push, ...shared } = info
  return JSON.stringify({ shared, members: members.data, announcements })
}

/** Reads everything that the client does not know or that is stale, as an app would do. */
export async function readStale(store: ClientStore, api: Api, about: Surroundings): Promise<void> {
  for (const key of keysOf(about, store.userId))
    if (store.stale.delete(key) || !store.cache.has(key))
      store.cache.set(key, await readThing(api, key, store.userId))
  for (const groupId of about.groupIds) {
    const key = `group ${groupId}`
    if (store.staleGroups.delete(groupId) || !store.cache.has(key))
      store.cache.set(key, (await readGroup(api, groupId)) ?? 'no member')
  }
  store.stale.clear()
}

/** @returns things that have changed although the client was not told to read them again */
export async function unnoticedChanges(
  store: ClientStore,
  api: Api,
  about: Surroundings,
): Promise<string[]> {
  const found: string[] = []
  for (const key of keysOf(about, store.userId)) {
    if (store.stale.has(key) || !store.cache.has(key)) continue
    const [before, now] = [store.cache.get(key), await readThing(api, key, store.userId)]
    if (before !== now)
      found.push(`user ${store.userId}: ${key} is ${now}, was ${before}, and is not stale`)
  }
  for (const groupId of about.groupIds) {
    const now = await readGroup(api, groupId)
    const before = store.cache.get(`group ${groupId}`)
    const isMember = store.logs.has(keyOf({ low_id: groupId, high_id: groupId, is_group: true }))
    if (now === null || !isMember || store.staleGroups.has(groupId) || before === undefined)
      continue
    if (now !== before)
      found.push(
        `user ${store.userId}: group ${groupId} is ${now}, was ${before}, and is not stale`,
      )
  }
  return found
}
