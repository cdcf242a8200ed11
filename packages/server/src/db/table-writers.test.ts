/** One store writes each table, with the bulk statements in the `-statements` file beside it. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Schema } from './schema.js'

/** For each table the path of its store without `-store.ts`. */
const tableWriters: Readonly<Record<keyof Schema, string>> = {
  apps: 'domain/apps/app',
  admin_tokens: 'domain/apps/app',
  operator_tokens: 'domain/apps/app',
  users: 'domain/users/user',
  user_badges: 'domain/users/user',
  user_counts: 'domain/users/registration/user-count',
  user_settings: 'domain/users/settings/settings',
  user_tokens: 'domain/login/token',
  user_identities: 'domain/identity/identities/identity',
  identity_issuers: 'domain/identity/issuers/issuer',
  login_networks: 'domain/login/login-network',
  push_aliases: 'domain/push/preferences/push-preference',
  devices: 'domain/devices/device',
  push_tags: 'domain/push/preferences/push-preference',
  push_bindings: 'domain/devices/push-binding',
  silent_push_bindings: 'domain/devices/push-binding',
  push_certificates: 'domain/push/certificates/certificate',
  push_tasks: 'domain/push/tasks/task',
  push_task_counts: 'domain/push/tasks/task',
  push_deliveries: 'domain/push/deliveries/delivery',
  contacts: 'domain/contacts/contact',
  contact_requests: 'domain/contacts/contact-request',
  pinned_conversations: 'domain/messaging/conversations/pin',
  conversations: 'domain/messaging/conversations/conversation',
  readers: 'domain/messaging/readers/reader',
  messages: 'domain/messaging/log/message',
  recalled_messages: 'domain/messaging/log/message',
  own_notifications: 'domain/messaging/log/message',
  message_changes: 'domain/messaging/log/change',
  message_reactions: 'domain/messaging/log/reaction',
  pinned_messages: 'domain/messaging/log/pinned-message',
  message_streams: 'domain/messaging/streams/stream',
  stream_chunks: 'domain/messaging/streams/stream',
  outbox: 'outbox/outbox',
  outbox_heads: 'outbox/outbox',
  outbox_positions: 'outbox/outbox',
  user_changes: 'outbox/outbox',
  database_identity: 'db/identity/identity',
  lost_histories: 'db/identity/identity',
  histories: 'db/identity/identity',
  data_imports: 'transfer/import',
  imports: 'domain/imports/import',
  imported_items: 'domain/imports/import',
  imported_minutes: 'domain/imports/import',
  webhook_endpoints: 'domain/webhooks/endpoints/endpoint',
  webhook_events: 'domain/webhooks/waiting/waiting-event',
  webhook_attempts: 'domain/webhooks/attempts/attempt',
  event_consumers: 'domain/events/consumer',
  jobs: 'jobs/job',
  alerts: 'domain/alerts/alert',
  long_jobs: 'domain/long-jobs/long-job',
  groups: 'domain/groups/core/group',
  group_members: 'domain/groups/membership/member',
  group_mute_gaps: 'domain/messaging/readers/mute-gap',
  group_removals: 'domain/groups/membership/removal',
  group_blocks: 'domain/groups/moderation/block',
  group_join_requests: 'domain/groups/admission/join-request',
  group_invitations: 'domain/groups/admission/invitation',
  group_invitation_counts: 'domain/groups/admission/invitation',
  group_announcements: 'domain/groups/content/announcement',
  group_files: 'domain/groups/content/shared-file',
  files: 'domain/files/file',
  file_usage: 'domain/files/file-usage',
  file_references: 'domain/files/file-reference',
  file_withdrawals: 'domain/files/file-withdrawal',
  file_holds: 'domain/files/file-hold',
  receipt_requests: 'domain/messaging/positions/receipt-request',
  sent_transactions: 'domain/messaging/transactions/transaction',
  id_slots: 'db/id-reservations',
  key_checks: 'domain/secrets/key-check',
  node_shares: 'nodes/share',
  sessions: 'domain/sessions/session',
  nodes: 'nodes/node',
  failed_logins: 'domain/login/failure',
  erasures: 'domain/erasure/erasure',
  erasure_holds: 'domain/erasure/holds/hold',
}

const sources = fileURLToPath(new URL('..', import.meta.url))
/**
 * The schema itself, statements whose table is a parameter, and what imports make again before any
 * store is used.
 */
const others = /^(?:db\/(?:migrations|dialect)\/|transfer\/derived\.ts)/

const name = String.raw`["'\`]?(\w+)`
const writes = [
  String.raw`\.(?:insertInto|updateTable|deleteFrom|replaceInto|mergeInto)\(\s*${name}`,
  String.raw`\b(?:insert\s+into|delete\s+from)\s+${name}`,
  String.raw`(?<!\b(?:for|key|do)\s+)\bupdate\s+${name}(?:\s+(?:as\s+)?(?!set\b)\w+)?\s+set\b`,
  String.raw`\bdeleteFrom: ${name}`,
  String.raw`\btable: ${name}',`,
  String.raw`\badmissionStatements\(\s*${name}`,
].map((pattern) => new RegExp(pattern, 'gi'))

/** Returns the tables that a source writes. A bulk statement with keys and without new values only reads. */
function tablesWrittenIn(source: string): Set<string> {
  const text = source.replaceAll(/: BulkSelect(?: =)? \{(?:.*\}$|[\s\S]*?\n\})/gm, '')
  const found = writes.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(([, table = '']) => table),
  )
  return new Set(found.filter((table) => table in tableWriters))
}

function storeOf(path: string): string {
  return path.replace(/(?:-store|-statements)?\.ts$/, '')
}

/** Returns each store with a table that it writes, as `store: table`, in order. */
function writersIn(files: Iterable<readonly [string, string]>): string[] {
  const found = [...files].flatMap(([path, source]) =>
    [...tablesWrittenIn(source)].map((table) => `${storeOf(path)}: ${table}`),
  )
  return [...new Set(found)].sort()
}

describe('the writers of tables', () => {
  it('are the stores of this list, each table with one', () => {
    const files = readdirSync(sources, { recursive: true, encoding: 'utf8' })
      .filter((path) => /(?<!\.test)\.ts$/.test(path) && !others.test(path))
      .map((path) => [path, readFileSync(join(sources, path), 'utf8')] as const)
    const expected = Object.entries(tableWriters).map(([table, store]) => `${store}: ${table}`)
    expect(writersIn(files)).toEqual(expected.sort())
  })

  it.each([
    ['built', "tx.insertInto('node_shares').values(row)"],
    ['built over lines', "tx\n  .updateTable(\n'node_shares')"],
    ['written by hand', 'sql`delete from node_shares where lease = 1`'],
    ['an update by hand', 'sql`update node_shares as l set lease = 1`'],
    ['a bulk insert', "const insert: BulkInsert = { table: 'node_shares', columns }"],
    ['a bulk deletion', "const gone: BulkDelete = { deleteFrom: 'node_shares', keys }"],
  ])('are found in a statement that is %s', (_, source) => {
    expect(writersIn([['other/module.ts', source]])).toEqual(['other/module: node_shares'])
  })

  it('are not those that read or lock', () => {
    const source =
      "db.selectFrom('node_shares').forUpdate(); sql`select 1 from node_shares for update`"
    expect(writersIn([['other/module.ts', source]])).toEqual([])
  })
})
