/** Every setting of the service: the source of the environment, the file, the refusals and the reference. */
import { isIP } from 'node:net'
import { scopeFaults, scopeNames, scopeWords } from '@hermod/protocol'
import { isAddressRange } from '../lib/limits/network.js'
import { redactUrl } from '../lib/secrets/redact.js'
import { databaseUrlProblem } from './database-url.js'

/** One setting. */
export interface Option<T = unknown> {
  /** Its name in the environment and in the file alike. */
  readonly name: `HERMOD_${string}`
  readonly type: string
  readonly unit?: string
  /** Null: unset, which `text` explains. */
  readonly default: T
  /** One plain sentence. */
  readonly text: string
  /** The accepted values, as the end of a sentence with "must be". */
  readonly accepts: string
  /** An accepted value as a shell takes it. */
  readonly example: string
  /** The value is never printed, and may be in a file that another setting names. */
  readonly secret: boolean
  /**
   * All nodes that share a database must have the same value: whichever node answers a call, it has
   * the same rules. Differing values are reported. Never for secrets.
   */
  readonly sameOnNodes?: boolean
  /**
   * Returns the end of a sentence about a value that `decode` does not accept, without the value.
   * Default: "must be" and `accepts`.
   */
  problem?(input: string): string | null
  /** Undefined: not accepted. */
  decode(input: string): T | undefined
  /** The value as people read it; for most options also as `decode` reads it. */
  encode(value: T): string
}

type Described = Pick<Option, 'name' | 'text' | 'sameOnNodes'> & { readonly unit?: string }

type Custom<T> = Omit<Option<T>, 'secret' | 'encode'> &
  Partial<Pick<Option<T>, 'secret' | 'encode'>>

/** The text for people in place of a missing value. */
export const notSet = 'not set'

function customOption<T>(custom: Custom<T>): Option<T> {
  return { secret: false, encode: (value) => (value === null ? notSet : String(value)), ...custom }
}

function integerOption(
  range: Described & { readonly min: number; readonly max: number; readonly default: number },
): Option<number> {
  const { min, max, ...described } = range
  return customOption<number>({
    ...described,
    type: 'integer',
    accepts: `an integer from ${min} to ${max}`,
    example: String(range.default),
    decode(input) {
      const value = /^\d{1,15}$/.test(input) ? Number(input) : Number.NaN
      return value >= min && value <= max ? value : undefined
    },
  })
}

function choiceOption<const Value extends string>(
  choices: Described & { readonly values: readonly Value[]; readonly default: NoInfer<Value> },
): Option<Value> {
  const { values, ...described } = choices
  return customOption<Value>({
    ...described,
    type: 'choice',
    accepts: `one of ${values.join(', ')}`,
    example: choices.default,
    decode: (input) => values.find((value) => value === input),
  })
}

function toggle(described: Described & { readonly default: boolean }): Option<boolean> {
  return customOption<boolean>({
    ...described,
    type: 'on or off',
    accepts: 'on or off',
    example: onOff(described.default),
    decode: decodeSwitch,
    encode: onOff,
  })
}

type Pattern<T> = Described &
  Pick<Option, 'accepts' | 'example'> & {
    readonly pattern: RegExp
    readonly default: T
    readonly type?: string
  }

function textOption<T extends string | null>(pattern: Pattern<T>): Option<T | string> {
  const { pattern: expression, type = 'text', ...described } = pattern
  return customOption<T | string>({
    ...described,
    type,
    decode: (input) => (expression.test(input) ? input : undefined),
  })
}

function secretOption(pattern: Omit<Pattern<null>, 'default'>): Option<string | null> {
  return {
    ...textOption<string | null>({ ...pattern, default: null, type: 'secret' }),
    secret: true,
    encode: setOrNot,
  }
}

const secretKeyText = {
  accepts: '32 to 256 printable characters without spaces',
  example: '$(openssl rand -hex 32)',
  pattern: /^[\x21-\x7e]{32,256}$/,
}
/** A slash at the end, so that nothing else begins with it by chance. */
const keyPrefix = /^(?=.{1,100}$)([a-z0-9_-][a-z0-9._-]*\/)+$/
const hostname = /^[a-z0-9_]([a-z0-9._-]{0,253}[a-z0-9_.])?$/i
const origin = /^[a-z][a-z0-9+.-]*:\/\/[^\s/,*@]+$/
/** Not ~/…, which only shells replace. */
const wholePath = /^(?!~\/)./
const usernamePrefix = /^[\p{L}\p{N}_]{1,64}$/u

/** The key of an option is its name inside the service. */
export const options = {
  config: textOption({
    name: 'HERMOD_CONFIG',
    type: 'path',
    default: null,
    text: 'A JSON file with settings; the environment overrides it.',
    accepts: 'the path of a JSON file',
    example: '/etc/hermod/hermod.json',
    pattern: /./,
  }),
  host: customOption<string>({
    name: 'HERMOD_HOST',
    type: 'address',
    default: '127.0.0.1',
    text: 'The address to listen on; 0.0.0.0 or :: for all addresses of the machine.',
    accepts: 'an IP address or a host name without scheme, port and brackets',
    example: '0.0.0.0',
    decode: (input) => (isIP(input) > 0 || hostname.test(input) ? input : undefined),
  }),
  port: integerOption({
    name: 'HERMOD_PORT',
    min: 0,
    max: 65535,
    default: 8080,
    text: 'The TCP port to listen on; 0 takes any free one.',
  }),
  publicUrl: customOption<string | null>({
    name: 'HERMOD_PUBLIC_URL',
    sameOnNodes: true,
    type: 'URL',
    default: null,
    text: 'The URL under which clients reach the service, for absolute links; unset: the address that it listens on, and for files the one that each request names.',
    accepts: 'an http or https URL without user, query and fragment',
    example: 'https://chat.example.org',
    decode: decodePublicUrl,
  }),
  trustProxy: customOption<boolean | readonly string[]>({
    name: 'HERMOD_TRUST_PROXY',
    type: 'on, off or list',
    default: false,
    text: 'The proxies with trusted X-Forwarded headers, for the address of the client: none (off), all (on), or the listed ones.',
    accepts:
      'on (every address), off, or IP addresses and CIDR ranges separated by commas; the shortest prefix is /1',
    example: '10.0.0.0/8,192.0.2.7',
    decode: (input) => decodeSwitch(input) ?? decodeList(input, isAddressRange),
    encode: (value) => (typeof value === 'boolean' ? onOff(value) : value.join(',')),
  }),
  corsOrigins: customOption<'*' | readonly string[]>({
    name: 'HERMOD_CORS_ORIGINS',
    sameOnNodes: true,
    type: '*, off or list',
    default: '*',
    text: 'The web origins from which pages may call the service: all (*), none (off), or the listed ones.',
    accepts: '*, off, or origins such as https://app.example.org separated by commas',
    example: 'https://app.example.org,https://admin.example.org',
    decode: decodeOrigins,
    encode: (value) => (value === '*' ? value : value.join(',') || 'off'),
  }),
  outboundAllow: customOption<readonly string[]>({
    name: 'HERMOD_OUTBOUND_ALLOW',
    sameOnNodes: true,
    type: 'list',
    default: [],
    text: 'Private addresses that webhooks and alerts may call; without it they reach public addresses only.',
    accepts: 'IP addresses and CIDR ranges separated by commas; the shortest prefix is /1',
    example: '10.1.0.0/16,127.0.0.1',
    decode: (input) => decodeList(input, isAddressRange),
    encode: (value) => value.join(',') || notSet,
  }),
  outboundProxy: customOption<string | null>({
    name: 'HERMOD_OUTBOUND_PROXY',
    type: 'URL',
    default: null,
    text: 'The HTTP proxy for webhooks and alerts, which then resolves the names of their addresses. Printed without its password.',
    accepts: 'an http or https URL without path',
    example: 'http://proxy.example.org:3128',
    secret: true,
    decode: decodeProxyUrl,
    encode: (value) => (value === null ? notSet : redactUrl(value)),
  }),
  alertUrl: customOption<string | null>({
    name: 'HERMOD_ALERT_URL',
    sameOnNodes: true,
    type: 'URL',
    default: null,
    text: 'The address that gets alerts for the operator, signed by Standard Webhooks; unset: alerts are in the log only. A private address needs HERMOD_OUTBOUND_ALLOW.',
    accepts: 'an http or https URL without user and fragment',
    example: 'https://alerts.example.org/hermod',
    decode: decodeAlertUrl,
    encode: (value) => (value === null ? notSet : new URL(value).origin),
  }),
  alertSecret: secretOption({
    name: 'HERMOD_ALERT_SECRET',
    text: 'Signs the alerts to HERMOD_ALERT_URL.',
    accepts: 'whsec_ and the base64 of 24 to 64 bytes',
    example: 'whsec_$(openssl rand -hex 32)',
    pattern: /^whsec_(?=.{32,88}$)([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
  }),
  httpStatus: choiceOption({
    name: 'HERMOD_HTTP_STATUS',
    sameOnNodes: true,
    values: ['envelope', 'mirror'],
    default: 'envelope',
    text: 'envelope: every operation answers with HTTP 200 and the code tells; mirror: failures get their HTTP status as well.',
  }),
  shutdownSeconds: integerOption({
    name: 'HERMOD_SHUTDOWN_SECONDS',
    unit: 'seconds',
    min: 1,
    max: 3600,
    default: 20,
    text: 'How long accepted requests may take to finish after SIGTERM.',
  }),
  drainSeconds: integerOption({
    name: 'HERMOD_DRAIN_SECONDS',
    unit: 'seconds',
    min: 0,
    max: 3600,
    default: 10,
    text: 'How long a node after hermod nodes drain still takes new calls and connections while /readyz answers 503, so that balancers notice.',
  }),
  keepAliveSeconds: integerOption({
    name: 'HERMOD_KEEP_ALIVE_SECONDS',
    unit: 'seconds',
    min: 1,
    max: 7200,
    default: 72,
    text: 'How long a connection without a request is kept open; set it above the time for which a load balancer keeps its connections, for example to 620 for 600 seconds.',
  }),
  connections: integerOption({
    name: 'HERMOD_CONNECTIONS',
    unit: 'connections',
    min: 10,
    max: 1_000_000,
    default: 20_000,
    text: 'The most open connections; a further one takes the place of an idle one, and is closed where there is none.',
  }),
  addressConnections: integerOption({
    name: 'HERMOD_ADDRESS_CONNECTIONS',
    unit: 'connections',
    min: 1,
    max: 1_000_000,
    default: 10_000,
    text: 'The most open connections of one address, or IPv6 network (/64); those of trusted proxies are not counted.',
  }),
  connectionRequests: integerOption({
    name: 'HERMOD_CONNECTION_REQUESTS',
    unit: 'requests',
    min: 1,
    max: 1000,
    default: 16,
    text: 'The most requests of one connection that run at once; reading from it stops while more of them wait.',
  }),
  waitingRequests: integerOption({
    name: 'HERMOD_WAITING_REQUESTS',
    unit: 'requests',
    min: 100,
    max: 1_000_000,
    default: 10_000,
    text: 'The most requests that wait on all connections together for the answers before them; beyond it the connections that add to them are closed.',
  }),
  gatewayConnections: integerOption({
    name: 'HERMOD_GATEWAY_CONNECTIONS',
    unit: 'connections',
    min: 1,
    max: 1_000_000,
    default: 18_000,
    text: 'The most WebSocket connections; never more than nine tenths of what HERMOD_CONNECTIONS and the file descriptors allow for.',
  }),
  gatewayAddressConnections: integerOption({
    name: 'HERMOD_GATEWAY_ADDRESS_CONNECTIONS',
    unit: 'connections',
    min: 1,
    max: 1_000_000,
    default: 9_000,
    text: 'The most WebSocket connections of one address, or IPv6 network (/64), also behind a trusted proxy.',
  }),
  gatewayUnopened: integerOption({
    name: 'HERMOD_GATEWAY_UNOPENED',
    unit: 'connections',
    min: 1,
    max: 1_000_000,
    default: 2_000,
    text: 'The most WebSocket connections that have not sent session.open; a further one takes the place of one of the address that has most, or of one that has waited for a second.',
  }),
  gatewayUserSessions: integerOption({
    name: 'HERMOD_GATEWAY_USER_SESSIONS',
    sameOnNodes: true,
    unit: 'sessions',
    min: 1,
    max: 10_000,
    default: 32,
    text: 'The most open sessions of one user, such as devices and tabs of browsers; those that Admin tokens open for the user have as many of their own.',
  }),
  gatewayPingSeconds: integerOption({
    name: 'HERMOD_GATEWAY_PING_SECONDS',
    unit: 'seconds',
    min: 1,
    max: 300,
    default: 25,
    text: 'The interval of heartbeats on WebSocket connections; set it below the time after which proxies close silent connections.',
  }),
  unreadBytes: integerOption({
    name: 'HERMOD_UNREAD_BYTES',
    unit: 'bytes',
    min: 1_048_576,
    max: 17_179_869_184,
    default: 67_108_864,
    text: 'The most bytes of answers that are held for clients to read; beyond it the slowest clients are cut off, and others that have not read what they got are answered 503.',
  }),
  connectionUnreadBytes: integerOption({
    name: 'HERMOD_CONNECTION_UNREAD_BYTES',
    unit: 'bytes',
    min: 65_536,
    max: 1_073_741_824,
    default: 1_048_576,
    text: 'The bytes of unread answers from which on no further request of a connection is begun.',
  }),
  bodyBytes: integerOption({
    name: 'HERMOD_BODY_BYTES',
    unit: 'bytes',
    min: 1_048_576,
    max: 17_179_869_184,
    default: 67_108_864,
    text: 'The most memory for request bodies that are on their way; beyond it the slowest of them answer 503.',
  }),
  stallSeconds: integerOption({
    name: 'HERMOD_STALL_SECONDS',
    unit: 'seconds',
    min: 1,
    max: 600,
    default: 15,
    text: 'How long a request body may stand still, and an answer may go unread; then the connection is closed. An unread answer has a second more for each 64 KiB of it.',
  }),
  logLevel: choiceOption({
    name: 'HERMOD_LOG_LEVEL',
    values: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    default: 'info',
    text: 'The least severe log lines to write.',
  }),
  dataDir: textOption({
    name: 'HERMOD_DATA_DIR',
    type: 'path',
    default: './data',
    text: 'The data folder; one process uses it at a time.',
    accepts: 'the path of a folder, without ~',
    example: '/var/lib/hermod',
    pattern: wholePath,
  }),
  databaseUrl: customOption<string | null>({
    name: 'HERMOD_DATABASE_URL',
    type: 'URL',
    default: null,
    text: 'The PostgreSQL database; unset: the embedded database in the data folder. Printed without its password.',
    accepts:
      'a postgres:// or postgresql:// URL with one host; special characters of the password are percent-encoded',
    example: 'postgres://hermod:password@127.0.0.1:5432/hermod',
    secret: true,
    problem: databaseUrlProblem,
    decode: (input) => (databaseUrlProblem(input) === null ? input : undefined),
    encode: (value) => (value === null ? notSet : redactUrl(value)),
  }),
  databasePool: integerOption({
    name: 'HERMOD_DATABASE_POOL',
    unit: 'connections',
    min: 1,
    max: 1000,
    default: 10,
    text: 'The most connections to PostgreSQL that one process opens, beside one for messages between nodes and one for long reads; the embedded database ignores it.',
  }),
  databaseTimeoutSeconds: integerOption({
    name: 'HERMOD_DATABASE_TIMEOUT_SECONDS',
    unit: 'seconds',
    min: 1,
    max: 300,
    default: 5,
    text: 'How long a statement may take on PostgreSQL before its call is refused; the embedded database ignores it. Changes of the schema and integrity checks have no deadline.',
  }),
  migrate: choiceOption({
    name: 'HERMOD_MIGRATE',
    values: ['auto', 'manual'],
    default: 'auto',
    text: 'A start brings the schema of the database up to date (auto), or leaves that to hermod migrate (manual): with PostgreSQL the service waits for it and is not ready, with the embedded database the start is refused.',
  }),
  batchMessages: integerOption({
    name: 'HERMOD_BATCH_MESSAGES',
    unit: 'messages',
    min: 1,
    max: 4096,
    default: 256,
    text: 'The most messages that are stored in one commit; also how many positions of readers are moved in one.',
  }),
  queueMessages: integerOption({
    name: 'HERMOD_QUEUE_MESSAGES',
    unit: 'messages',
    min: 1,
    max: 1_000_000,
    default: 20_000,
    text: 'The most messages that wait for a commit, and the most positions of readers; above it the service answers 503.',
  }),
  queuePasswords: integerOption({
    name: 'HERMOD_QUEUE_PASSWORDS',
    unit: 'passwords',
    min: 2,
    max: 1_000_000,
    default: 200,
    text: 'The most passwords that wait to be checked or hashed, half of them for logins and half for registrations; above it the service answers 503. Calls with an Admin token have a bound of their own.',
  }),
  queueAdminPasswords: integerOption({
    name: 'HERMOD_QUEUE_ADMIN_PASSWORDS',
    unit: 'passwords',
    min: 2,
    max: 1_000_000,
    default: 2000,
    text: 'The most passwords that wait to be checked or hashed for calls with the Admin tokens of one application, half of them for logins and half for registrations; above it the service answers 503.',
  }),
  queueBytes: integerOption({
    name: 'HERMOD_QUEUE_BYTES',
    unit: 'bytes',
    min: 1_048_576,
    max: 17_179_869_184,
    default: 67_108_864,
    text: 'The most text of messages that waits for a commit or is being committed; a send that would take more than half of what is left answers 503.',
  }),
  outboxMaxLagDays: integerOption({
    name: 'HERMOD_OUTBOX_MAX_LAG_DAYS',
    sameOnNodes: true,
    unit: 'days',
    min: 3,
    max: 365,
    default: 7,
    text: 'How long events are kept for a consumer that does not handle them; after it the consumer misses them.',
  }),
  pushTraceDays: integerOption({
    name: 'HERMOD_PUSH_TRACE_DAYS',
    sameOnNodes: true,
    unit: 'days',
    min: 1,
    max: 365,
    default: 7,
    text: 'How long the outcome of a push on each device is kept; later receipts do not count.',
  }),
  pushTaskDays: integerOption({
    name: 'HERMOD_PUSH_TASK_DAYS',
    sameOnNodes: true,
    unit: 'days',
    min: 1,
    max: 3650,
    default: 90,
    text: 'How long requested push tasks, their counts and their request IDs are kept; not shorter than HERMOD_PUSH_TRACE_DAYS; pushes of messages are kept as long as their traces.',
  }),
  secretKey: secretOption({
    name: 'HERMOD_SECRET_KEY',
    text: 'Encrypts secrets at rest and signs file credentials and QR codes; unset: made once and kept in the data folder. Processes that share a database need the same one.',
    ...secretKeyText,
  }),
  secretKeyOld: secretOption({
    name: 'HERMOD_SECRET_KEY_OLD',
    text: 'The key before a change of HERMOD_SECRET_KEY. Its signatures are accepted until it is removed from the settings. Before that, hermod secret rotate must have encrypted the secrets again.',
    ...secretKeyText,
  }),
  bootstrapAppId: textOption({
    name: 'HERMOD_BOOTSTRAP_APP_ID',
    default: null,
    text: 'The app_id of the first application, made when it does not exist; unset: chosen by the service on the first start.',
    accepts: '2 to 32 of a-z, 0-9, _ and -',
    example: 'my-app',
    pattern: /^[a-z0-9_-]{2,32}$/,
  }),
  bootstrapAdminToken: secretOption({
    name: 'HERMOD_BOOTSTRAP_ADMIN_TOKEN',
    text: 'An Admin token of the first application.',
    accepts: 'hma_ and 32 or more letters and digits',
    example: 'hma_$(openssl rand -hex 32)',
    pattern: /^hma_[A-Za-z0-9]{32,}$/,
  }),
  bootstrapAdminTokenScopes: customOption<readonly string[] | null>({
    name: 'HERMOD_BOOTSTRAP_ADMIN_TOKEN_SCOPES',
    sameOnNodes: true,
    type: 'list',
    default: null,
    text: 'The scopes of HERMOD_BOOTSTRAP_ADMIN_TOKEN, set at every start; unset: all for a new token, and a known one keeps its own.',
    accepts: `all, or scopes separated by commas, each once: ${scopeNames.join(', ')}`,
    example: 'users:read,tokens:issue',
    decode: decodeScopes,
    encode: (value) => value?.join(',') ?? notSet,
  }),
  bootstrapTokens: choiceOption({
    name: 'HERMOD_BOOTSTRAP_TOKENS',
    values: ['print', 'none'],
    default: 'print',
    text: 'print: a first start without HERMOD_BOOTSTRAP_ADMIN_TOKEN makes tokens and prints them once; none: it makes the application alone, for services whose output is a log, and hermod token create makes its tokens.',
  }),
  operatorToken: secretOption({
    name: 'HERMOD_OPERATOR_TOKEN',
    text: 'An operator token. The hermod command sends it with --url.',
    accepts: 'hmo_ and 32 or more letters and digits',
    example: 'hmo_$(openssl rand -hex 32)',
    pattern: /^hmo_[A-Za-z0-9]{32,}$/,
  }),
  rateLimit: toggle({
    name: 'HERMOD_RATE_LIMIT',
    sameOnNodes: true,
    default: true,
    text: 'off ends every limit of requests, registrations and waiting passwords; failed logins are still slowed down.',
  }),
  checkAnswers: toggle({
    name: 'HERMOD_CHECK_ANSWERS',
    default: false,
    text: 'on checks every answer against the contract, and every transaction for missing invalidations of caches and statements that are not awaited. A violation fails the call. For development and tests.',
  }),
  filesDir: textOption<string | null>({
    name: 'HERMOD_FILES_DIR',
    type: 'path',
    default: null,
    text: 'The folder of the files; unset: files in the data folder. An S3-compatible store takes its place.',
    accepts: 'the path of a folder, without ~',
    example: '/mnt/hermod-files',
    pattern: wholePath,
  }),
  filesShared: toggle({
    name: 'HERMOD_FILES_SHARED',
    sameOnNodes: true,
    default: false,
    text: 'on: all nodes mount the folder of the files, so each of them serves files; off: one node does, unless an S3-compatible store has them.',
  }),
  s3Endpoint: customOption<string | null>({
    name: 'HERMOD_S3_ENDPOINT',
    sameOnNodes: true,
    type: 'URL',
    default: null,
    text: 'The address of an S3-compatible store for files; unset: files are kept in a folder.',
    accepts: 'an http or https URL without query and credentials',
    example: 'https://s3.eu-central-1.amazonaws.com',
    decode: decodePublicUrl,
  }),
  s3PublicEndpoint: customOption<string | null>({
    name: 'HERMOD_S3_PUBLIC_ENDPOINT',
    sameOnNodes: true,
    type: 'URL',
    default: null,
    text: 'The address under which clients reach that store; unset: HERMOD_S3_ENDPOINT.',
    accepts: 'an http or https URL without query and credentials',
    example: 'https://files.example.org',
    decode: decodePublicUrl,
  }),
  s3Region: textOption<string>({
    name: 'HERMOD_S3_REGION',
    sameOnNodes: true,
    default: 'us-east-1',
    text: 'The region that signatures for the store name; many stores take any.',
    accepts: '1 to 64 of a-z, 0-9 and -',
    example: 'eu-central-1',
    pattern: /^[a-z0-9-]{1,64}$/,
  }),
  s3Bucket: textOption<string | null>({
    name: 'HERMOD_S3_BUCKET',
    sameOnNodes: true,
    default: null,
    text: 'The bucket for files, which must exist; the service needs the rights to list it and to read, write and delete its objects.',
    accepts: '3 to 63 of a-z, 0-9, . and -, with a letter or digit at both ends',
    example: 'hermod-files',
    pattern: /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
  }),
  s3AccessKeyId: textOption<string | null>({
    name: 'HERMOD_S3_ACCESS_KEY_ID',
    default: null,
    text: 'The name of the key for the store.',
    accepts: '1 to 256 printable characters without spaces and slashes',
    example: 'AKIAIOSFODNN7EXAMPLE',
    pattern: /^[\x21-\x2e\x30-\x7e]{1,256}$/,
  }),
  s3SecretAccessKey: secretOption({
    name: 'HERMOD_S3_SECRET_ACCESS_KEY',
    text: 'The key for the store.',
    accepts: '1 to 256 printable characters without spaces',
    example: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    pattern: /^[\x21-\x7e]{1,256}$/,
  }),
  s3ForcePathStyle: toggle({
    name: 'HERMOD_S3_FORCE_PATH_STYLE',
    default: true,
    text: 'Whether the bucket is named in the path of the address, or in its host name.',
  }),
  s3Prefix: textOption<string | null>({
    name: 'HERMOD_S3_PREFIX',
    sameOnNodes: true,
    default: null,
    text: 'The prefix of the name of every object, for a shared bucket; unset: none.',
    accepts:
      'up to 100 of a-z, 0-9, ., _ and -, as names that end with a slash each and begin with no dot',
    example: 'hermod/',
    pattern: keyPrefix,
  }),
  s3Uploads: choiceOption({
    name: 'HERMOD_S3_UPLOADS',
    sameOnNodes: true,
    values: ['through', 'direct'],
    default: 'through',
    text: 'Whether clients send files through the service, or directly to the store by a signed form: that takes a store with POST policies, and clients that send every field of the ticket along.',
  }),
  s3Downloads: choiceOption({
    name: 'HERMOD_S3_DOWNLOADS',
    sameOnNodes: true,
    values: ['redirect', 'stream'],
    default: 'redirect',
    text: 'Whether downloads are answered with a redirect to a signed address of the store, or with the bytes.',
  }),
  freeDiskBytes: integerOption({
    name: 'HERMOD_FREE_DISK_BYTES',
    unit: 'bytes',
    min: 0,
    max: 1_099_511_627_776,
    default: 536_870_912,
    text: 'The free space on the disk of the files below which uploads and thumbnails are refused, so that the database can still write; at most a tenth of the disk.',
  }),
  ffmpeg: textOption<string | null>({
    name: 'HERMOD_FFMPEG',
    type: 'path',
    default: null,
    text: 'The ffmpeg program, which makes mp3 of voice; unset: the one that is found in PATH, if any.',
    accepts: 'the path of a program',
    example: '/usr/bin/ffmpeg',
    pattern: /./,
  }),
  backupDir: textOption<string | null>({
    name: 'HERMOD_BACKUP_DIR',
    type: 'path',
    default: null,
    text: 'The folder of backups, on another disk than the data folder; the service makes one of the embedded database and its files at each interval. Unset: there are no backups by schedule.',
    accepts: 'the path of a folder, without ~',
    example: '/mnt/hermod-backups',
    pattern: wholePath,
  }),
  backupPassphraseFile: textOption<string | null>({
    name: 'HERMOD_BACKUP_PASSPHRASE_FILE',
    type: 'path',
    default: null,
    text: 'A file with the passphrase that encrypts backups of the embedded database and its files, and opens them to verify and restore them; it has one line of at least 12 characters in UTF-8, and other users may not read it. Unset: backups are not encrypted.',
    accepts: 'the path of a file, without ~',
    example: '/etc/hermod/backup-passphrase',
    pattern: wholePath,
  }),
  backupHours: integerOption({
    name: 'HERMOD_BACKUP_HOURS',
    unit: 'hours',
    min: 1,
    max: 168,
    default: 6,
    text: 'The interval of backups.',
  }),
  backupDaily: integerOption({
    name: 'HERMOD_BACKUP_DAILY',
    unit: 'days',
    min: 0,
    max: 3650,
    default: 7,
    text: 'The days of which the newest backup is kept; those of the last 24 hours are all kept.',
  }),
  backupWeekly: integerOption({
    name: 'HERMOD_BACKUP_WEEKLY',
    unit: 'weeks',
    min: 0,
    max: 520,
    default: 4,
    text: 'The weeks of which the newest backup is kept.',
  }),
  backupLogMb: customOption<number | null>({
    name: 'HERMOD_BACKUP_LOG_MB',
    unit: 'MiB',
    type: 'integer',
    default: null,
    text: 'How much the write-ahead log of the database may grow while a backup copies the database; beyond it the backup fails, and sends go on. Unset: a quarter of the free disk.',
    accepts: 'an integer from 1 to 10000000',
    example: '4096',
    decode(input) {
      const value = /^\d{1,8}$/.test(input) ? Number(input) : 0
      return value >= 1 && value <= 10_000_000 ? value : undefined
    },
  }),
  addressRate: integerOption({
    name: 'HERMOD_ADDRESS_RATE',
    sameOnNodes: true,
    unit: 'requests per second',
    min: 1,
    max: 1_000_000,
    default: 2000,
    text: 'The requests that one client address may send over time, counted before authentication; those with a valid Admin token are not counted.',
  }),
  addressBurst: integerOption({
    name: 'HERMOD_ADDRESS_BURST',
    sameOnNodes: true,
    unit: 'requests',
    min: 1,
    max: 1_000_000,
    default: 4000,
    text: 'The requests that one client address may send at once after a pause.',
  }),
  userRate: integerOption({
    name: 'HERMOD_USER_RATE',
    sameOnNodes: true,
    unit: 'tokens per second',
    min: 1,
    max: 1_000_000,
    default: 100,
    text: 'The tokens that one user may spend over time, from all devices together; a request takes one, and more when it costs more.',
  }),
  userBurst: integerOption({
    name: 'HERMOD_USER_BURST',
    sameOnNodes: true,
    unit: 'tokens',
    min: 1,
    max: 1_000_000,
    default: 200,
    text: 'The tokens that one user may spend at once after a pause.',
  }),
  userCalls: integerOption({
    name: 'HERMOD_USER_CALLS',
    sameOnNodes: true,
    unit: 'requests',
    min: 1,
    max: 1_000_000,
    default: 32,
    text: 'The requests of one user that may run at the same time, from all devices together.',
  }),
  userFileRate: integerOption({
    name: 'HERMOD_USER_FILE_RATE',
    sameOnNodes: true,
    unit: 'bytes per second',
    min: 1024,
    max: 1_099_511_627_776,
    default: 4_194_304,
    text: 'The bytes of files that one user may send and fetch through the service over time, from all devices together. A call that exceeds them continues; only the next files wait.',
  }),
  userFileBurst: integerOption({
    name: 'HERMOD_USER_FILE_BURST',
    sameOnNodes: true,
    unit: 'bytes',
    min: 1024,
    max: 1_099_511_627_776,
    default: 1_073_741_824,
    text: 'The bytes of files that one user may send and fetch at once after a pause.',
  }),
  botRate: integerOption({
    name: 'HERMOD_BOT_RATE',
    sameOnNodes: true,
    unit: 'tokens per second',
    min: 1,
    max: 1_000_000,
    default: 1000,
    text: 'The tokens that one bot may spend over time, in place of HERMOD_USER_RATE.',
  }),
  botBurst: integerOption({
    name: 'HERMOD_BOT_BURST',
    sameOnNodes: true,
    unit: 'tokens',
    min: 1,
    max: 1_000_000,
    default: 2000,
    text: 'The tokens that one bot may spend at once after a pause, in place of HERMOD_USER_BURST.',
  }),
  botCalls: integerOption({
    name: 'HERMOD_BOT_CALLS',
    sameOnNodes: true,
    unit: 'requests',
    min: 1,
    max: 1_000_000,
    default: 256,
    text: 'The requests of one bot that may run at the same time, in place of HERMOD_USER_CALLS.',
  }),
  appRate: integerOption({
    name: 'HERMOD_APP_RATE',
    sameOnNodes: true,
    unit: 'requests per second',
    min: 1,
    max: 1_000_000,
    default: 5000,
    text: 'The requests that all users of one application together may send over time, without those that carry a valid Admin token.',
  }),
  appBurst: integerOption({
    name: 'HERMOD_APP_BURST',
    sameOnNodes: true,
    unit: 'requests',
    min: 1,
    max: 1_000_000,
    default: 10_000,
    text: 'The requests that all users of one application together may send at once after a pause.',
  }),
  loginUserFailures: integerOption({
    name: 'HERMOD_LOGIN_USER_FAILURES',
    sameOnNodes: true,
    unit: 'failed logins',
    min: 1,
    max: 1_000_000,
    default: 5,
    text: 'The wrong passwords in a row for one user from one network, or wrong auth_answers of one user to another, after which every further attempt has to wait.',
  }),
  loginAddressFailures: integerOption({
    name: 'HERMOD_LOGIN_ADDRESS_FAILURES',
    sameOnNodes: true,
    unit: 'failed logins',
    min: 1,
    max: 1_000_000,
    default: 20,
    text: 'The failed logins from one network (an IPv4 address or an IPv6 /64) over all users, or wrong auth_answers of one user to all others, after which every further attempt has to wait.',
  }),
  loginMaxWaitSeconds: integerOption({
    name: 'HERMOD_LOGIN_MAX_WAIT_SECONDS',
    sameOnNodes: true,
    unit: 'seconds',
    min: 1,
    max: 3600,
    default: 60,
    text: 'The longest wait between attempts; the first wait is one second and each further failure doubles it.',
  }),
  loginForgetMinutes: integerOption({
    name: 'HERMOD_LOGIN_FORGET_MINUTES',
    sameOnNodes: true,
    unit: 'minutes',
    min: 1,
    max: 1440,
    default: 15,
    text: 'The time without a failure after which failed logins are forgotten.',
  }),
  userTokenDays: integerOption({
    name: 'HERMOD_USER_TOKEN_DAYS',
    sameOnNodes: true,
    unit: 'days',
    min: 1,
    max: 3650,
    default: 30,
    text: 'How long a user token lives.',
  }),
  passwordMinLength: integerOption({
    name: 'HERMOD_PASSWORD_MIN_LENGTH',
    sameOnNodes: true,
    unit: 'characters',
    min: 6,
    max: 128,
    default: 6,
    text: 'The shortest password that users may choose.',
  }),
  reservedUsernamePrefixes: customOption<readonly string[]>({
    name: 'HERMOD_RESERVED_USERNAME_PREFIXES',
    sameOnNodes: true,
    type: 'list',
    default: [],
    text: 'Reserved prefixes of usernames, which cannot be registered; upper and lower case count as the same.',
    accepts: 'letters, digits and underscores, entries separated by commas',
    example: 'admin,support_',
    decode: (input) => decodeList(input.toLowerCase(), (prefix) => usernamePrefix.test(prefix)),
    encode: (value) => value.join(','),
  }),
  devicesPerUser: integerOption({
    name: 'HERMOD_DEVICES_PER_USER',
    sameOnNodes: true,
    unit: 'devices',
    min: 1,
    max: 1000,
    default: 20,
    text: 'The most devices of one user; a new one replaces the one that was unused for longest.',
  }),
  transactionHours: integerOption({
    name: 'HERMOD_TRANSACTION_HOURS',
    sameOnNodes: true,
    unit: 'hours',
    min: 1,
    max: 720,
    default: 24,
    text: 'How long a transaction_id is remembered, so that a repeated send stores no second message.',
  }),
  streamSilentSeconds: integerOption({
    name: 'HERMOD_STREAM_SILENT_SECONDS',
    sameOnNodes: true,
    unit: 'seconds',
    min: 1,
    max: 3600,
    default: 30,
    text: 'How long a message that is being written may be without an append before the service ends it as interrupted.',
  }),
  streamMinutes: integerOption({
    name: 'HERMOD_STREAM_MINUTES',
    sameOnNodes: true,
    unit: 'minutes',
    min: 1,
    max: 1440,
    default: 30,
    text: 'How long a message may be written in all before the service ends it as interrupted.',
  }),
  streamAppendsPerSecond: integerOption({
    name: 'HERMOD_STREAM_APPENDS_PER_SECOND',
    sameOnNodes: true,
    unit: 'appends',
    min: 1,
    max: 1000,
    default: 5,
    text: 'The most appends to one message in a second, on average.',
  }),
  streamAppendBurst: integerOption({
    name: 'HERMOD_STREAM_APPEND_BURST',
    sameOnNodes: true,
    unit: 'appends',
    min: 1,
    max: 10_000,
    default: 20,
    text: 'The most appends to one message at once.',
  }),
  streamsPerSender: integerOption({
    name: 'HERMOD_STREAMS_PER_SENDER',
    sameOnNodes: true,
    unit: 'messages',
    min: 1,
    max: 10_000,
    default: 10,
    text: 'The most messages that one sender writes at once.',
  }),
  streamsPerBot: integerOption({
    name: 'HERMOD_STREAMS_PER_BOT',
    sameOnNodes: true,
    unit: 'messages',
    min: 1,
    max: 10_000,
    default: 200,
    text: 'The most messages that one bot writes at once, in place of HERMOD_STREAMS_PER_SENDER.',
  }),
  maxMessageBytes: integerOption({
    name: 'HERMOD_MAX_MESSAGE_BYTES',
    sameOnNodes: true,
    unit: 'bytes',
    min: 1024,
    max: 1_000_000,
    default: 65_536,
    text: 'The greatest size of content, attachment, ext and config of one message together.',
  }),
  maxTargets: integerOption({
    name: 'HERMOD_MAX_TARGETS',
    sameOnNodes: true,
    unit: 'targets',
    min: 1,
    max: 500,
    default: 500,
    text: 'The most targets of one send.',
  }),
} as const

/** The name of a setting in code. */
export type OptionKey = keyof typeof options
/** The value of every setting, decoded. */
export type OptionValues = {
  readonly [Key in OptionKey]: (typeof options)[Key] extends Option<infer T> ? T : never
}

/** All keys, in the order of the reference. */
export const optionKeys = Object.keys(options) as [OptionKey, ...OptionKey[]]

/** The option under a key, for code that treats all alike. */
export function optionOf(key: OptionKey): Option {
  return options[key] as Option
}

function onOff(value: boolean): string {
  return value ? 'on' : 'off'
}

function setOrNot(value: unknown): string {
  return value === null ? notSet : 'set'
}

function decodeSwitch(input: string): boolean | undefined {
  if (input === 'on') return true
  return input === 'off' ? false : undefined
}

/** Undefined when an entry is not accepted or the list is empty. */
function decodeList(input: string, accepts: (entry: string) => boolean): string[] | undefined {
  const entries = input
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
  return entries.length > 0 && entries.every(accepts) ? [...new Set(entries)] : undefined
}

function decodeScopes(input: string): string[] | undefined {
  const words = input.split(',').map((word) => word.trim())
  const areKnown = words.every((word) => scopeWords.some((each) => each === word))
  return areKnown && scopeFaults({ scopes: words }).length === 0 ? words : undefined
}

function decodePublicUrl(input: string): string | undefined {
  const url = URL.canParse(input) ? new URL(input) : null
  const plain =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    !/[?#]/.test(input) &&
    url.username === '' &&
    url.password === ''
  return plain ? url.href.replace(/\/+$/, '') : undefined
}

function decodeProxyUrl(input: string): string | undefined {
  const url = URL.canParse(input) ? new URL(input) : null
  const isPlain =
    url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/' && !/[?#]/.test(input)
  return isPlain ? url.href.replace(/\/$/, '') : undefined
}

function decodeAlertUrl(input: string): string | undefined {
  const url = URL.canParse(input) ? new URL(input) : null
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined
  return url.username === '' && url.password === '' && url.hash === '' ? url.href : undefined
}

function decodeOrigins(input: string): '*' | string[] | undefined {
  if (input === '*') return '*'
  return input === 'off' ? [] : decodeList(input, (entry) => origin.test(entry))
}
