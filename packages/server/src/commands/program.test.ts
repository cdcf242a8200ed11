import { PassThrough, Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { type CommandDependencies, type Migration, runProgram } from './program.js'
import type { OperatorAnswer, OperatorParams } from './runtime/call.js'

const serving = { state: 'serving', text: '', since: 0 }
const now = Date.parse('2026-01-01T00:00:00Z')
const app = {
  app_id: 'demo',
  name: 'Demo',
  status: 0,
  open_registration: true,
  created_at: now,
}

const simulation = {
  gateways: [
    {
      channel: 'vendor_x',
      gateway_app_id: '1',
      app_key: 'key',
      app_secret: 'secret',
      certificate: '',
      package_name: 'com.example.app',
      send_url: 'https://127.0.0.1:4000',
      auth_url: '',
      ca: 'PEM',
    },
  ],
  ca: 'PEM',
  vendor_h_account: '{}',
  scripts: [{ script: 'dead', prefix: 'dead-', ios_prefix: 'dead', meaning: 'has ended' }],
}
const simulatedCall = {
  at: now,
  channel: 'vendor_x',
  method: 'POST',
  path: '/v3/message/regid',
  body: 'title=Hello+you&pass_through=0',
  answer: '200 {}',
}

const importedApp = { webhook_endpoints: 2 }
const exportedFiles = { store: 'folder' as const, count: 1, bytes: 9, missing: 0 }

const verified = {
  ...{ backup: 'b1', created_at: '2026-11-29T16:00:00.000Z', bytes: 20, files: 2 },
  ...{ rows: 9, facts: 7, digest: 'equal' as const, is_noted: true },
}

type Given = 'env' | 'serve' | 'stdin' | 'interrupted'
interface Setup extends Partial<Pick<CommandDependencies, Given>> {
  readonly answer?: Partial<OperatorAnswer>
  readonly migrations?: readonly Migration[]
  readonly copy?: string | null
  readonly compaction?: { readonly before: number; readonly after: number } | null
}

/** Runs one command line on fakes, in a folder that no server uses. */
async function run(
  line: string,
  {
    answer,
    migrations = [],
    copy = null,
    compaction = null,
    env = {},
    serve,
    ...setup
  }: Setup = {},
) {
  const calls: [string, OperatorParams][] = []
  const done: string[] = []
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  const code = await runProgram(
    {
      version: '1.2.3',
      env: { HERMOD_DATA_DIR: '/nonexistent/hermod', ...env },
      stdin: setup.stdin ?? new PassThrough(),
      stdout,
      stderr,
      now: () => now,
      serve: serve ?? (async ({ config }) => void done.push(`serve ${config.http.port}`)),
      async migrate(_loaded, { statusOnly, withoutCopy }) {
        done.push(`migrate ${statusOnly} ${withoutCopy}`)
        return { migrations, copy }
      },
      async checkDatabase() {
        return null
      },
      async compact() {
        done.push('compact')
        return compaction
      },
      async restore() {
        throw new Error('not called')
      },
      async newEpoch() {
        done.push('new epoch')
        return 'an-epoch'
      },
      data: {
        async digest(_loaded, { kind, apps }) {
          done.push(`digest ${kind} ${apps.join()}`)
          return { users: { count: 2, sum: 'ab' } }
        },
        async export(_loaded, options) {
          done.push(`export ${JSON.stringify(options)}`)
          const dropped = [{ what: 'jobs of the kind text_erasure', count: 1 }]
          return { folder: options.to, rows: 2, files: exportedFiles, dropped }
        },
        async import(_loaded, { from }) {
          done.push(`import ${from}`)
          return { isRestored: false, rows: 2, files: exportedFiles, apps: { a: importedApp } }
        },
        async undoImport() {
          done.push('undo')
          return ['a']
        },
        async checkImport(_loaded, { from }) {
          done.push(`check ${from}`)
          const sample = { type: 'users', line: 2, reason: 'has U+0000 in nick_name' }
          return {
            ...{ version: '1.2.3', created_at: '2026-11-29T16:00:00.000Z', files: exportedFiles },
            ...{ kind: 'portable' as const, apps: { a: importedApp } },
            ...{ counts: { users: 2 }, problems: 1, samples: [sample] },
          }
        },
      },
      async simulatePush({ firstPort, started, received }) {
        done.push(`simulate ${firstPort}`)
        await started(simulation)
        received(simulatedCall)
      },
      interrupted: setup.interrupted ?? (async () => {}),
      verification: {
        async backup(_loaded, choice) {
          done.push(`verify ${JSON.stringify(choice)}`)
          return verified
        },
        async copy(_loaded, url) {
          done.push(`verify ${url}`)
          return { rows: 4, facts: 3, files: null, digest: { users: { count: 4, sum: 'ab' } } }
        },
      },
      async local() {
        return {
          isLocal: true,
          async call(id, params) {
            calls.push([id, params])
            return { code: 200, data: null, message: null, ...answer }
          },
          async close() {
            done.push('close')
          },
        }
      },
    },
    line.split(' ').filter((word) => word !== ''),
  )
  return { code, calls, done, out: textOf(stdout), err: textOf(stderr) }
}

/** What was written; how much one read takes out differs from version to version of Node. */
function textOf(stream: PassThrough): string {
  const chunks: Buffer[] = []
  for (;;) {
    const chunk: Buffer | null = stream.read()
    if (chunk === null) return Buffer.concat(chunks).toString()
    chunks.push(chunk)
  }
}

describe('hermod', () => {
  it.each(['', 'app', 'token'])('%s alone shows its help and is wrong usage', async (line) => {
    const { code, err } = await run(line)
    expect(code).toBe(2)
    expect(err).toContain('Usage: hermod')
  })

  it.each(['--help', 'help', 'help app', 'app create --help'])('%s succeeds', async (line) => {
    const { code, out } = await run(line)
    expect(code).toBe(0)
    expect(out).toContain('Usage: hermod')
  })

  it('prints its version', async () => {
    expect(await run('--version')).toMatchObject({ code: 0, out: '1.2.3\n' })
  })

  it('names the nearest command', async () => {
    const { code, err } = await run('serv')
    expect(code).toBe(2)
    expect(err).toContain("unknown command 'serv'")
    expect(err).toContain('Did you mean serve?')
  })

  it('refuses a bad configuration with code 2 and all errors', async () => {
    const env = { HERMOD_PROT: '1', HERMOD_PORT: 'x' }
    const { code, err, done } = await run('serve', { env })
    expect(code).toBe(2)
    expect(done).toEqual([])
    expect(err).toMatch(
      /^hermod: the configuration is refused:\n {2}- HERMOD_PROT .*\n {2}- HERMOD_PORT /,
    )
    const scripted = await run('app list --json', { env })
    expect(JSON.parse(scripted.err)).toMatchObject({
      code: null,
      violations: [expect.stringContaining('HERMOD_PROT'), expect.any(String)],
    })
  })
})

describe('hermod serve', () => {
  it('serves with the loaded configuration', async () => {
    expect(await run('serve', { env: { HERMOD_PORT: '9000' } })).toMatchObject({
      code: 0,
      done: ['serve 9000'],
    })
  })

  it('explains a taken port', async () => {
    const taken = Object.assign(new Error('listen EADDRINUSE'), {
      code: 'EADDRINUSE',
      syscall: 'listen',
      address: '127.0.0.1',
      port: 8080,
    })
    const { code, err } = await run('serve', { serve: () => Promise.reject(taken) })
    expect(code).toBe(1)
    expect(err).toBe(
      'hermod: 127.0.0.1:8080 is in use; set HERMOD_HOST and HERMOD_PORT to another address and port\n',
    )
  })

  it('tells other failures as they are, bugs with their stack', async () => {
    expect((await run('serve', { serve: () => Promise.reject(new Error('disk full')) })).err).toBe(
      'hermod: disk full\n',
    )
    expect(
      (await run('serve', { serve: () => Promise.reject(new TypeError('oops')) })).err,
    ).toContain('TypeError: oops\n    at ')
  })
})

describe('hermod app', () => {
  it('creates an application and shows its token', async () => {
    const data = { app_id: 'demo', name: 'Demo', admin_token: 'hma_x' }
    const { code, calls, done, out } = await run('app create --id demo --name Demo', {
      answer: { data },
    })
    expect(code).toBe(0)
    expect(calls).toEqual([['operator.app.create', { app_id: 'demo', name: 'Demo' }]])
    expect(done).toEqual(['close'])
    expect(out).toBe(
      'app_id       demo\nname         Demo\nadmin_token  hma_x\n\nKeep the Admin token now: it is not shown again.\n',
    )
  })

  it('leaves out what was not given', async () => {
    const { calls } = await run('app create --json', { answer: { data: {} } })
    expect(calls).toEqual([['operator.app.create', {}]])
  })

  it('lists applications as a table, and as JSON for scripts', async () => {
    const answer = {
      data: [app, { ...app, app_id: 'second-app', name: '', status: 1, open_registration: false }],
    }
    expect((await run('app list', { answer })).out).toBe(
      [
        'app_id      name  status    open_registration  created_at',
        'demo        Demo  normal    yes                2026-01-01T00:00:00.000Z',
        'second-app  -     disabled  no                 2026-01-01T00:00:00.000Z\n',
      ].join('\n'),
    )
    expect(JSON.parse((await run('app list --json', { answer })).out)).toEqual(answer.data)
    expect((await run('app list', { answer: { data: [] } })).out).toBe(
      'There is no application; make one with hermod app create.\n',
    )
  })

  it('updates what was given', async () => {
    const { calls, out } = await run(
      'app update demo --status disabled --open-registration false',
      { answer: { data: app } },
    )
    expect(calls).toEqual([
      ['operator.app.update', { app_id: 'demo', status: 1, open_registration: false }],
    ])
    expect(out).toContain('status             normal\n')
  })

  it('sends settings by their names, and a secret', async () => {
    const line =
      'app update demo --set recall_seconds=600 --set time_zone=Europe/Berlin --registration-secret between-us'
    const { calls } = await run(line, { answer: { data: app } })
    const settings = { recall_seconds: '600', time_zone: 'Europe/Berlin' }
    expect(calls).toEqual([
      ['operator.app.update', { app_id: 'demo', registration_secret: 'between-us', settings }],
    ])
  })

  it.each([
    ['app update demo', 'nothing to change'],
    [
      'app update demo --set recall_seconds',
      'It must be a name and a value, such as recall_seconds=600.',
    ],
    ['app update demo --status off', 'It must be normal or disabled.'],
    ['app update demo --open-registration maybe', 'It must be true or false.'],
    ['app update', "missing required argument 'app_id'"],
    ['app list --no-such', "unknown option '--no-such'"],
    ['app list extra', 'too many arguments'],
  ])('%s is wrong usage', async (line, message) => {
    const { code, err, calls } = await run(line)
    expect(code).toBe(2)
    expect(err).toContain(message)
    expect(calls).toEqual([])
  })

  it('fails with the message of a refusal', async () => {
    const answer = { code: 40004, message: 'app_id is taken' }
    expect(await run('app create --id demo', { answer })).toMatchObject({
      code: 1,
      out: '',
      err: 'hermod: app_id is taken\n',
      done: ['close'],
    })
    expect(JSON.parse((await run('app create --json', { answer })).err)).toEqual(answer)
  })
})

describe('hermod token', () => {
  const listed = {
    ...{ token_id: 7, app_id: 'demo', name: 'ci', scopes: ['users:read', 'push'] },
    ...{ expires_at: 0, created_at: now, revoked_at: 0 },
  }

  it.each([
    ['90d', now + 90 * 86_400_000],
    ['12h', now + 12 * 3_600_000],
    ['2w', now + 14 * 86_400_000],
    ['2026-06-01', Date.parse('2026-06-01T00:00:00Z')],
    ['2026-06-01T12:00:00+02:00', Date.parse('2026-06-01T10:00:00Z')],
  ])('creates a token that expires in or at %s', async (expires, expiresAt) => {
    const data = {
      token_id: 7,
      app_id: 'demo',
      name: 'ci',
      scopes: ['all'],
      expires_at: expiresAt,
      token: 'hma_secret',
    }
    const { calls, out } = await run(`token create --app demo --name ci --expires ${expires}`, {
      answer: { data },
    })
    expect(calls).toEqual([
      ['operator.token.create', { app_id: 'demo', name: 'ci', expires_at: expiresAt }],
    ])
    expect(out).toMatch(
      /expires_at +2026-.*\ntoken +hma_secret\n\nKeep the token now: it is not shown again\.\n$/,
    )
  })

  it.each([
    ['token create --app demo', "required option '--name <name>' not specified"],
    ['token create --name ci', "required option '--app <app_id>' not specified"],
    ['token create --app demo --name ci --expires soon', 'It must be a span such as 90d'],
    ['token create --app demo --name ci --expires 2025-01-01', 'It must lie in the future.'],
    ['token revoke --app demo x', 'It must be a positive integer.'],
    ['token update --app demo 7', "required option '--scopes <list>' not specified"],
  ])('%s is wrong usage', async (line, message) => {
    const { code, err } = await run(line)
    expect(code).toBe(2)
    expect(err).toContain(message)
  })

  it('lists tokens with times that never come as a dash', async () => {
    const data = [listed]
    const { calls, out } = await run('token list --app demo', { answer: { data } })
    expect(calls).toEqual([['operator.token.list', { app_id: 'demo' }]])
    expect(out).toContain(
      '\n7         demo    ci    users:read,push  -           2026-01-01T00:00:00.000Z  -\n',
    )
    expect((await run('token list --app demo', { answer: { data: [] } })).out).toBe(
      'demo has no Admin token.\n',
    )
  })

  it('creates a token with scopes, and narrows or widens one', async () => {
    const created = { ...listed, token: 'hma_secret' }
    const create = await run('token create --app demo --name ci --scopes users:read,push', {
      answer: { data: created },
    })
    expect(create.calls).toEqual([
      ['operator.token.create', { app_id: 'demo', name: 'ci', scopes: ['users:read', 'push'] }],
    ])
    const update = await run('token update --app demo 7 --scopes push', {
      answer: { data: { ...listed, scopes: ['push'] } },
    })
    expect(update.calls).toEqual([
      ['operator.token.update', { app_id: 'demo', token_id: 7, scopes: ['push'] }],
    ])
    expect(update.out).toMatch(/\nscopes +push\n/)
    const refused = { code: 10002, data: null, message: 'x: scopes[0] must be one of push, app' }
    const { code, err } = await run('token update --app demo 7 --scopes x', { answer: refused })
    expect([code, err]).toEqual([1, 'hermod: x: --scopes[0] must be one of push, app\n'])
  })

  it('revokes a token', async () => {
    const { calls, out } = await run('token revoke --app demo 7', { answer: { data: true } })
    expect(calls).toEqual([['operator.token.revoke', { app_id: 'demo', token_id: 7 }]])
    expect(out).toBe('Token 7 of demo is revoked.\n')
  })
})

describe('hermod config', () => {
  it('prints every setting with its source and no secret', async () => {
    const env = { HERMOD_PORT: '9000', HERMOD_OPERATOR_TOKEN: `hmo_${'x'.repeat(32)}` }
    const { out } = await run('config', { env })
    expect(out).toMatch(/^setting +value +source\n/)
    expect(out).toMatch(/\nHERMOD_PORT +9000 +environment\n/)
    expect(out).toMatch(/\nHERMOD_HOST +127\.0\.0\.1 +default\n/)
    expect(out).toMatch(/\nHERMOD_OPERATOR_TOKEN +set +environment\n/)
    const settings = JSON.parse((await run('config --json', { env })).out)
    expect(settings).toContainEqual({ name: 'HERMOD_PORT', value: '9000', source: 'environment' })
  })

  it('prints the reference even when the configuration is refused', async () => {
    const { code, out } = await run('config --reference', { env: { HERMOD_PORT: 'x' } })
    expect(code).toBe(0)
    expect(out).toMatch(/^# Configuration\n/)
  })
})

describe('commands that move all data', () => {
  it('print digests, and the rows and files of exports and imports', async () => {
    const digest = await run('digest')
    expect(digest.out).toBe('type   count  sum\nusers  2      ab\n')
    expect(JSON.parse((await run('digest --json')).out)).toEqual({ users: { count: 2, sum: 'ab' } })
    const { done, out } = await run('export --move --drop-undelivered')
    const to = 'hermod-export-20260101T000000Z'
    const whole = { kind: 'move', apps: [], to, dropsUndelivered: true }
    expect(done).toEqual([`export ${JSON.stringify(whole)}`])
    expect(out).toContain(`2 rows and 1 file of 9 bytes are in ${to}.`)
    expect(out).toContain('Left out: jobs of the kind text_erasure (1).')
    const imported = await run('import there')
    expect(imported.done).toEqual(['import there'])
    expect(imported.out).toContain('2 rows and 1 file of 9 bytes are imported')
    expect(imported.out).toContain('hermod token create --app a')
    expect(imported.out).toContain('2 webhook endpoints were left behind')
  })

  it('export applications by default, and undo imports', async () => {
    const { done } = await run('export --app a --app b --to there')
    const chosen = { kind: 'portable', apps: ['a', 'b'], to: 'there', dropsUndelivered: false }
    expect(done).toEqual([`export ${JSON.stringify(chosen)}`])
    for (const wrong of ['--move --app a', '--move --portable', '--drop-undelivered'])
      expect(await run(`export ${wrong}`)).toMatchObject({ code: 1, done: [] })
    expect((await run('digest --app a')).done).toEqual(['digest portable a'])
    expect((await run('digest')).done).toEqual(['digest move '])
    const undone = await run('import --undo')
    expect(undone.out).toBe('The import of a is undone. The service can start.\n')
    for (const wrong of ['import', 'import there --undo'])
      expect(await run(wrong)).toMatchObject({ code: 1, done: [] })
  })

  it.each(['stream', 'csv'])(
    'import %s: an interruption ends it also while no input comes',
    async (kind) => {
      let read = () => {}
      const reading = new Promise<void>((resolve) => {
        read = resolve
      })
      const stdin = new Readable({ read: () => read() })
      const interrupted = () => reading
      const { code, err } = await run(`import ${kind} - --check`, { stdin, interrupted })
      expect(code).toBe(1)
      expect(err).toContain('the work was interrupted; run the command again')
    },
  )

  it.each(['/dev/null', '/dev/null/none'])('import no file by way of %s', async (folder) => {
    const { code, err } = await run(`import stream - --check --temporary ${folder}`)
    expect(code).toBe(1)
    expect(err).toContain(`${folder} takes no temporary files: `)
  })

  it('import nothing with --check', async () => {
    const { code, done, out, err } = await run('import there --check')
    expect([code, done]).toEqual([1, ['check there']])
    expect(out).toContain('An export (portable) of')
    expect(out).toContain('Applications: a.')
    expect(out).toContain('users  2     has U+0000 in nick_name')
    expect(err).toContain('1 line cannot be imported')
  })
})

describe('hermod job', () => {
  it('a done job is at 100 %, whatever its last step counted', async () => {
    const job = { job_id: 7, kind: 'backup_create', is_cancelled: false, done: 0, total: 1 }
    const texts = { text: '', error: '', created_at: now, ended_at: now }
    const jobs = [{ ...job, ...texts, state: 'done' }]
    const answer = { code: 200, data: { jobs, next_cursor: '' } }
    const { out } = await run('job list', { answer })
    expect(out).toContain('100 %')
  })
})

describe('paths', () => {
  it('with a ~ that no shell has replaced are refused', async () => {
    expect(await run('backup create --to=~/backups')).toMatchObject({
      code: 1,
      err: expect.stringContaining('--to has a ~ that the shell has not replaced: ~/backups'),
    })
  })
})

describe('hermod compact', () => {
  it('says how large the database was and is', async () => {
    const compaction = { before: 3 * 2 ** 20, after: 2 ** 19 }
    const { done, out } = await run('compact', { compaction })
    expect(done).toEqual(['compact'])
    expect(out).toBe('The database had 3.0 MiB and has 0.5 MiB now.\n')
    expect(JSON.parse((await run('compact --json', { compaction })).out)).toEqual({
      bytes_before: 3 * 2 ** 20,
      bytes_after: 2 ** 19,
    })
  })

  it('refuses a database that is not the embedded one', async () => {
    const { code, err } = await run('compact')
    expect(code).toBe(1)
    expect(err).toContain('PostgreSQL')
  })
})

describe('hermod database new-epoch', () => {
  it('prints the new epoch', async () => {
    const { done, out } = await run('database new-epoch')
    expect(done).toEqual(['new epoch'])
    expect(out).toBe('The database has the new epoch an-epoch.\n')
    expect(JSON.parse((await run('database new-epoch --json')).out)).toEqual({ epoch: 'an-epoch' })
  })
})

describe('hermod migrate', () => {
  const migrations: Migration[] = [
    { name: '001-start', state: 'applied' },
    { name: '002-more', state: 'pending' },
  ]

  it('applies by default and only looks with --status', async () => {
    expect((await run('migrate')).done).toEqual(['migrate false false'])
    const { done, out } = await run('migrate --status', { migrations })
    expect(done).toEqual(['migrate true false'])
    expect(out).toBe(
      'migration  state\n001-start  applied\n002-more   pending\n1 to be applied by hermod migrate.\n',
    )
    expect(JSON.parse((await run('migrate --status --json', { migrations })).out)).toEqual({
      migrations,
      copy: null,
    })
  })

  it('names the copy from before, which --without-copy leaves out', async () => {
    expect((await run('migrate --without-copy')).done).toEqual(['migrate false true'])
    expect((await run('migrate', { migrations, copy: '/data/copy' })).out).toContain(
      'The database from before is kept for a week as /data/copy.\n',
    )
  })
})

describe('hermod backup verify', () => {
  it('verifies the newest backup, or that of the options', async () => {
    const none = {
      backup: null,
      folder: null,
      keyFile: null,
      passphraseFile: null,
      temporary: null,
    }
    const { done, out } = await run('backup verify')
    expect(done).toEqual([`verify ${JSON.stringify(none)}`])
    expect(out).toBe(
      'The backup b1 of 2026-11-29T16:00:00.000Z is verified: 20 bytes and 2 files are as they were written, its 9 rows are those that were backed up, and hermod check finds no fault in 7 facts.\n',
    )
    const options =
      'b1 --to /backups --key-file /key --passphrase-file /pass --temporary /tmp --json'
    const given = await run(`backup verify ${options}`)
    expect(given.done).toEqual([
      `verify ${JSON.stringify({ backup: 'b1', folder: '/backups', keyFile: '/key', passphraseFile: '/pass', temporary: '/tmp' })}`,
    ])
    expect(JSON.parse(given.out)).toEqual(verified)
  })

  it('verifies a restored copy of PostgreSQL', async () => {
    const { done, out } = await run('backup verify --url postgres://localhost/copy')
    expect(done).toEqual(['verify postgres://localhost/copy'])
    expect(out).toContain('No files were compared')
    expect(out).toContain('users  4      ab')
  })
})

describe('hermod check', () => {
  it('succeeds when all facts agree', async () => {
    const { code, calls, out } = await run('check', {
      answer: { data: { checked: 12, faults: [], truncated: false, service: serving } },
    })
    expect(code).toBe(0)
    expect(calls).toEqual([['operator.check', {}]])
    expect(out).toBe('12 facts checked, all agree.\n')
    const acknowledging = await run('check --acknowledge', {
      answer: { data: { checked: 12, faults: [], truncated: false, service: serving } },
    })
    expect(acknowledging.out).toBe(
      'The lost histories of earlier checks are acknowledged.\n12 facts checked, all agree.\n',
    )
  })

  it('fails and lists the facts that are wrong', async () => {
    const data = {
      checked: 12,
      faults: [{ check: 'unread', app_id: 'demo', subject: 'user 1', detail: '2, not 3' }],
      truncated: false,
      service: serving,
    }
    const { code, out, err } = await run('check', { answer: { data } })
    expect(code).toBe(1)
    expect(out).toBe('check   app_id  subject  detail\nunread  demo    user 1   2, not 3\n')
    expect(err).toContain('hermod: 12 facts checked, 1 wrong;')
    const scripted = await run('check --json', { answer: { data } })
    expect(scripted.code).toBe(1)
    expect(JSON.parse(scripted.out)).toEqual(data)
  })

  it.each([
    [['push_certificate_expiry'], 'set new push certificates'],
    [['webhook_disabled'], 'enable the webhooks, or delete them'],
    [
      ['push_certificate_expiry', 'webhook_disabled'],
      'set new push certificates, enable the webhooks, or delete them',
    ],
    [
      ['webhook_disabled', 'unread'],
      'keep a copy of the data and restore a sound backup, or report the fault',
    ],
  ])('the advice suits the faults: %s', async (checks, advice) => {
    const faults = checks.map((check) => ({ check, app_id: 'demo', subject: '1', detail: '' }))
    const data = { checked: 12, faults, truncated: false, service: serving }
    const { code, err } = await run('check', { answer: { data } })
    expect(code).toBe(1)
    expect(err).toBe(`hermod: 12 facts checked, ${faults.length} wrong; ${advice}\n`)
  })
})

describe('hermod push', () => {
  it('says that an application has no push tasks, or none after the cursor', async () => {
    const answer = { data: { tasks: [], next_cursor: '' } }
    expect((await run('push list --app demo', { answer })).out).toBe('demo has no push tasks.\n')
    expect((await run('push list --app demo --after x', { answer })).out).toBe(
      'demo has no more push tasks.\n',
    )
  })

  it('names its options in failures', async () => {
    const refused = (message: string) => ({ answer: { code: 10002, message } })
    const cursor = 'invalid request parameter: cursor must be one'
    const { err, code } = await run('push list --app demo --after x', refused(cursor))
    expect([code, err]).toEqual([1, expect.stringContaining('parameter: --after must be one')])
    const task = 'invalid request parameter: task_id must be a 64-bit integer'
    expect((await run('push trace 5 --app demo --task 7', refused(task))).err).toContain(
      'parameter: --task must be',
    )
    expect((await run('push show 7 --app demo', refused(task))).err).toContain(
      'parameter: <task_id> must be',
    )
    const app = refused('app_id does not exist')
    expect((await run('push list --app nowhere', app)).err).toContain(
      'the application of --app does not exist',
    )
  })
})

describe('hermod push-simulator', () => {
  it('prints the gateways, the scripts, and what the gateways get', async () => {
    const { code, done, out } = await run('push-simulator --port 4000')
    expect([code, done]).toEqual([0, ['simulate 4000']])
    expect(out).toContain('vendor_x  https://127.0.0.1:4000  1               key      secret')
    expect(out).toContain('dead    dead-   dead        has ended')
    expect(out).toContain(
      '2026-01-01T00:00:00.000Z vendor_x POST /v3/message/regid: 200 {}\n  title=Hello you\n  pass_through=0\n',
    )
  })

  it('prints a line of JSON for the start and for each request', async () => {
    const { out } = await run('push-simulator --json')
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([simulation, simulatedCall])
  })

  it('takes no port that leaves no room for eight', async () => {
    const { code, err } = await run('push-simulator --port 65530')
    expect(code).toBe(2)
    expect(err).toContain('from 0 to 65528')
  })
})

describe('hermod webhook listen', () => {
  const listen = 'webhook listen --app demo --forward'

  it.each([
    [`${listen} ftp://localhost/hook`, 2, 'It must be an http or https URL.'],
    [`${listen} http://localhost/hook --secret-file missing.txt`, 1, 'missing.txt cannot be read'],
    [
      `${listen} http://localhost/hook --secret-file package.json`,
      1,
      '--secret-file must be whsec_',
    ],
    [`${listen} http://localhost/hook`, 1, 'start it with hermod serve'],
  ])('%s ends with code %i', async (line, expected, words) => {
    const { code, err, calls } = await run(line)
    expect(err).toContain(words)
    expect(code).toBe(expected)
    expect(calls).toEqual([])
  })
})
