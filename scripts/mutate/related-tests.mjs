/**
 * Integration tests by folder of packages/server/src. Unit tests are found in the folder of their
 * files.
 */

/** Path prefixes with names in packages/server/test; the longest prefix counts. */
const tests = {
  'domain/': ['walk', 'users', 'messages', 'groups'],
  'domain/apps/': ['app-config', 'commands', 'lifecycle', 'walk'],
  'domain/contacts/': ['contacts', 'contact-model', 'names'],
  'domain/devices/': ['devices', 'tokens'],
  'domain/files/': ['tokens', 'accounts'],
  'domain/groups/admission/': ['group-admission', 'group-qr', 'group-model'],
  'domain/groups/content/': ['group-announcements', 'group-files'],
  'domain/groups/core/': [
    'groups',
    'group-settings',
    'group-rights',
    'group-messages',
    'group-model',
  ],
  'domain/groups/membership/': ['group-members', 'group-succession', 'group-mute', 'group-model'],
  'domain/groups/moderation/': ['group-members', 'group-rights', 'group-totals', 'group-model'],
  'domain/integrity/': ['integrity', 'broadcasts'],
  'domain/login/': ['tokens', 'login-race', 'limits', 'users', 'commands-user'],
  'domain/messaging/conversations/': ['messages', 'pins', 'conversation-model', 'broadcasts'],
  'domain/messaging/log/': ['messages', 'changes', 'edits', 'group-messages', 'broadcasts'],
  'domain/messaging/log/message-model': ['messages', 'edits', 'group-messages', 'nodes'],
  'domain/messaging/log/stored-messages': ['message-push', 'outbox'],
  'domain/messaging/marks/': [
    'acknowledgements',
    'conversation-model',
    'broadcasts',
    'group-messages',
  ],
  'domain/messaging/operations/': ['recall', 'edits', 'changes', 'broadcasts'],
  'domain/messaging/reading/': [
    'messages',
    'changes',
    'conversation-model',
    'group-conversation-model',
    'nodes',
  ],
  'domain/messaging/sending/': [
    'messages',
    'send-batches',
    'group-messages',
    'broadcasts',
    'recall',
    'nodes',
  ],
  'domain/push/': ['push-tasks', 'message-push'],
  'domain/push/audience/': ['push-tasks', 'push-preferences', 'push-model'],
  'domain/push/certificates/': [
    'push-certificates',
    'push-certificate-service',
    'push-certificate-options',
    'push-limits',
    'push-gateways',
  ],
  'domain/push/deliveries/': [
    'push-core',
    'push-tasks',
    'push-model',
    'push-ios',
    'push-trace',
    'message-push',
  ],
  'domain/push/messages/': ['message-push', 'message-push-restart'],
  'domain/push/pages/': ['push-pages', 'push-tasks', 'push-model'],
  'domain/push/preferences/': ['push-preferences', 'message-push'],
  'domain/push/receipts/': ['push-receipts', 'push-receipts-api'],
  'domain/push/sending/': ['push-gateways', 'push-model', 'push-report', 'push-ios', 'push-trace'],
  'domain/push/tasks/': ['push-tasks', 'push-model', 'push-task-operator'],
  'domain/push/trace/': ['push-trace'],
  'domain/secrets/': ['secrets'],
  'domain/users/': ['users', 'names', 'user-settings', 'accounts'],
  'domain/users/deletion/': ['deletion', 'deletion-race'],
  'domain/users/import/': ['commands-user'],
  'domain/users/registration/': ['accounts', 'users', 'app-config', 'commands-user', 'broadcasts'],
  'domain/users/settings/': ['user-settings', 'accounts'],
  'pipeline/': ['pipeline', 'callers', 'bad-parameters', 'limits', 'walk'],
  'pipeline/call-limits': ['limits'],
  'db/': [
    'cache-check',
    'table-writers',
    'statement-check',
    'database-thread',
    'messages',
    'nodes',
  ],
  'db/database': ['cache-check', 'table-writers', 'statement-check', 'tokens', 'users', 'nodes'],
  'db/dialect/postgres': ['messages', 'faults', 'nodes'],
  'db/dialect/sqlite': ['database-thread', 'checkpoints', 'statement-check', 'messages'],
  'db/dialect/sqlite-checkpointer': ['checkpoints'],
  'db/migrations/': ['schema', 'lifecycle'],
  'http/routes/receipts': ['push-receipts', 'push-receipts-api'],
  'edge/': ['http', 'limits', 'lifecycle', 'file-answers'],
  'http/': ['http', 'limits', 'lifecycle'],
}

/** Tests that need PostgreSQL. */
const onlyOnPostgres = new Set(['nodes'])

/**
 * @param {string} path of a source file, relative to packages/server/src
 * @param {string} backend sqlite or postgres
 * @returns {string[]} test files relative to the root; none if unknown
 */
export function integrationTestsOf(path, backend) {
  const known = Object.keys(tests).filter((beginning) => path.startsWith(beginning))
  const longest = known.reduce((a, b) => (b.length > a.length ? b : a), '')
  return (tests[longest] ?? [])
    .filter((name) => backend === 'postgres' || !onlyOnPostgres.has(name))
    .map((name) => `packages/server/test/${name}.test.ts`)
}

/** All tests in the table, for its own test. */
export const namedTests = [...new Set(Object.values(tests).flat())]
