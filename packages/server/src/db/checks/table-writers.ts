/**
 * The check that one store writes each table, with the bulk statements in the `-statements` file next to it. It does not see migrations,
 * which have their own connections, nor statements that tests issue themselves.
 */

import type { BulkQuery } from '../dialect/dialect.js'
import type { CompiledQuery } from '../kysely.js'
import type { Schema } from '../schema.js'
import { BundledModules } from './bundled-modules.js'
import type { StatementRunner } from './cache-check.js'
import { KnownWrites } from './written-columns.js'

/** For each table the path of its store without `-store.ts`. */
export const tableWriters: Readonly<Record<keyof Schema, string>> = {
  apps: 'domain/apps/app',
  admin_tokens: 'domain/apps/app',
  operator_tokens: 'domain/apps/app',
  users: 'domain/users/user',
  user_badges: 'domain/users/user',
  user_counts: 'domain/users/registration/user-count',
  user_settings: 'domain/users/settings/settings',
  user_tokens: 'domain/login/token',
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
  user_conversations: 'domain/messaging/conversations/conversation',
  broadcast_marks: 'domain/messaging/positions/broadcast-position',
  messages: 'domain/messaging/log/message',
  recalled_messages: 'domain/messaging/log/message',
  own_notifications: 'domain/messaging/log/message',
  message_changes: 'domain/messaging/log/change',
  outbox: 'outbox/outbox',
  outbox_heads: 'outbox/outbox',
  outbox_positions: 'outbox/outbox',
  user_changes: 'outbox/outbox',
  database_identity: 'db/identity/identity',
  webhook_endpoints: 'domain/webhooks/endpoints/endpoint',
  webhook_events: 'domain/webhooks/waiting/waiting-event',
  webhook_attempts: 'domain/webhooks/attempts/attempt',
  event_consumers: 'domain/events/consumer',
  jobs: 'jobs/job',
  groups: 'domain/groups/core/group',
  group_members: 'domain/groups/membership/member',
  group_mute_gaps: 'domain/groups/membership/mute-gap',
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
  receipt_requests: 'domain/messaging/positions/receipt-request',
  sent_transactions: 'domain/messaging/transactions/transaction',
  id_slots: 'db/id-reservations',
  key_checks: 'domain/secrets/key-check',
  leases: 'jobs/lease',
}

/** The modules between a store and the database. */
const engine =
  /^db\/(?:dialect\/|checks\/|(?:bulk-runner|database|kysely|prepared|procedure|transaction)$)/

interface TableWriterCheckOptions {
  /** The folder that the paths of modules begin in. */
  readonly root?: URL
  readonly writers?: Readonly<Record<string, string>>
}

/** Makes a write by another module than the table's store an error. It reads the statements that run, in development and tests only. */
export class TableWriterCheck {
  readonly #root: string
  readonly #writers: Readonly<Record<string, string>>
  readonly #writes = new KnownWrites()
  readonly #bundled: BundledModules

  constructor({
    root = new URL('../..', import.meta.url),
    writers = tableWriters,
  }: TableWriterCheckOptions = {}) {
    this.#root = root.pathname
    this.#writers = writers
    this.#bundled = new BundledModules(root.pathname)
  }

  /** @param runner its statements are checked from now on */
  watch(runner: StatementRunner): void {
    const execute = runner.executeQuery.bind(runner)
    runner.executeQuery = async <Row>(query: CompiledQuery<Row> & BulkQuery) => {
      this.requireWriter(query.sql, query.module)
      return execute<Row>(query)
    }
  }

  /**
   * Called where the statement is issued, synchronously.
   * @param module `import.meta.url` of the module that declares a bulk statement; other statements are traced by the stack
   * @throws Error when the module is not the table's store
   */
  requireWriter(sql: string, module?: string): void {
    const writes = this.#writes.of(sql).filter(({ table }) => table in this.#writers)
    if (writes.length === 0) return
    const writer = module === undefined ? this.#issuer() : storeOf(this.#pathOf(module) ?? module)
    if (writer === null) return
    for (const { table } of writes)
      if (this.#writers[table] !== writer)
        throw new Error(`${writer} writes ${table}, which only ${this.#writers[table]} may`)
  }

  /** The module nearest to the statement; null when none of the service is on the stack. */
  #issuer(): string | null {
    for (const place of stackPlaces()) {
      const path = this.#pathOf(place)
      if (path !== null && !engine.test(storeOf(path))) return storeOf(path)
    }
    return null
  }

  #pathOf(text: string): string | null {
    const start = text.indexOf(this.#root)
    if (start === -1) return null
    const path = text.slice(start + this.#root.length)
    return path.startsWith('bundle/') ? this.#bundled.at(path) : path
  }
}

/** @param path of a module, with or without a place in it */
function storeOf(path: string): string {
  return path.replace(/(?:-store|-statements)?\.[mc]?[jt]s(?:[:?].*)?$/, '')
}

/** The places of the callers, the nearest first, without the cost of a formatted stack. */
function stackPlaces(): string[] {
  const { stackTraceLimit, prepareStackTrace } = Error
  Error.stackTraceLimit = 50
  Error.prepareStackTrace = (_, sites) => sites.map(placeOf)
  const { stack } = new Error()
  Object.assign(Error, { stackTraceLimit, prepareStackTrace })
  return stack as unknown as string[]
}

function placeOf(site: NodeJS.CallSite): string {
  return `${site.getScriptNameOrSourceURL()}:${site.getLineNumber()}:${site.getColumnNumber()}`
}
