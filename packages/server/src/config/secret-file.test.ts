import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { ConfigError, loadConfig } from './config.js'
import { optionKeys, optionOf } from './options.js'
import { secretFileName } from './secret-file.js'

const key = 'k'.repeat(40)

function load(env: NodeJS.ProcessEnv, files: Readonly<Record<string, string>> = {}) {
  return loadConfig(env, (path) => {
    const text = files[path]
    if (text === undefined) throw new Error(`ENOENT: no such file or directory, open '${path}'`)
    return text
  })
}

function violationsOf(...given: Parameters<typeof load>): readonly string[] {
  try {
    load(...given)
    return []
  } catch (error) {
    return error instanceof ConfigError ? error.violations : [String(error)]
  }
}

describe('secrets in files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hermod-secret-file-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  it('are read by the path that the setting with _FILE names, without white space around them', () => {
    const path = join(folder, 'key')
    for (const text of [key, `${key}\n`, `\ufeff ${key}\r\n\n`]) {
      writeFileSync(path, text)
      const { secrets, sources } = loadConfig({ HERMOD_SECRET_KEY_FILE: path })
      expect(secrets.secretKey).toBe(key)
      expect(sources.secretKey).toBe('environment')
    }
  })

  it.each(optionKeys.filter((each) => optionOf(each).secret))(
    '%s may be in a file, and its refusal does not print it',
    (secret) => {
      const option = optionOf(secret)
      const text = option.example.replace('$(openssl rand -hex 32)', 'a1'.repeat(32))
      const env = { [secretFileName(option)]: '/run/secrets/one' }
      const rest = { HERMOD_ALERT_URL: 'https://alerts.example.org', HERMOD_SECRET_KEY: key }
      expect(violationsOf(env, { '/run/secrets/one': text })).not.toContainEqual(
        expect.stringContaining('/run/secrets/one'),
      )
      expect(violationsOf(env, { '/run/secrets/one': 'hunter2 hunter2' })[0]).toMatch(
        new RegExp(`^${option.name}_FILE names /run/secrets/one, whose text .*; for example `),
      )
      expect(
        violationsOf({ ...rest, ...env }, { '/run/secrets/one': 'hunter2 x' }).join(),
      ).not.toMatch(/hunter2/)
    },
  )

  it('are shown as the setting itself, and never printed', () => {
    const loaded = load(
      { HERMOD_DATABASE_URL_FILE: '/run/secrets/database-url' },
      { '/run/secrets/database-url': 'postgres://hermod:hunter2@db/hermod\n' },
    )
    const shown = loaded.settings.find(({ name }) => name === 'HERMOD_DATABASE_URL')
    expect(shown).toMatchObject({
      value: 'postgres://hermod:***@db/hermod',
      source: 'environment',
    })
    expect(inspect(loaded, { depth: 9 }) + JSON.stringify(loaded)).not.toContain('hunter2')
  })

  it('are not printed when one is given in place of its path', () => {
    const given = {
      HERMOD_DATABASE_URL_FILE: 'postgres://hermod:hunter2@db/hermod',
      HERMOD_OPERATOR_TOKEN_FILE: 'hmo_hunter2',
      HERMOD_SECRET_KEY_FILE: 'hunter2'.repeat(40),
    }
    for (const [name, secret] of Object.entries(given)) {
      expect(() => loadConfig({ [name]: secret })).toThrow(`${name} names no file that can be read`)
      expect(() => loadConfig({ [name]: secret })).not.toThrow(/hunter2/)
    }
  })

  it('may be named by the file of HERMOD_CONFIG, and the environment wins in either form', () => {
    const files = {
      'h.json': '{"HERMOD_SECRET_KEY_FILE": "/etc/hermod/key"}',
      '/etc/hermod/key': key,
      '/run/secrets/other': 'o'.repeat(40),
    }
    const env = { HERMOD_CONFIG: 'h.json' }
    expect(load(env, files).secrets.secretKey).toBe(key)
    expect(load(env, files).sources.secretKey).toBe('file')
    const value = { ...env, HERMOD_SECRET_KEY: 'v'.repeat(40) }
    expect(load(value, files).secrets.secretKey).toBe('v'.repeat(40))
    const file = { ...env, HERMOD_SECRET_KEY_FILE: '/run/secrets/other' }
    expect(load(file, files).secrets.secretKey).toBe('o'.repeat(40))
  })

  it('name the setting and the file when there is no secret in it', () => {
    const env = {
      HERMOD_SECRET_KEY_FILE: '/run/secrets/gone',
      HERMOD_OPERATOR_TOKEN_FILE: '/run/secrets/empty',
      HERMOD_BOOTSTRAP_ADMIN_TOKEN_FILE: '/run/secrets/two',
      HERMOD_DATABASE_URL_FILE: '/run/secrets/url',
    }
    const files = {
      '/run/secrets/empty': '\n',
      '/run/secrets/two': `hma_${key}\nhma_${key}\n`,
      '/run/secrets/url': 'postgres://u:hunter2/x@db/hermod',
    }
    expect(violationsOf(env, files)).toEqual([
      "HERMOD_SECRET_KEY_FILE names /run/secrets/gone, which cannot be read: ENOENT: no such file or directory, open '/run/secrets/gone'",
      'HERMOD_OPERATOR_TOKEN_FILE names /run/secrets/empty, which is empty; its text must be hmo_ and 32 or more letters and digits; for example hmo_<output of openssl rand -hex 32>',
      'HERMOD_BOOTSTRAP_ADMIN_TOKEN_FILE names /run/secrets/two, whose text must be hma_ and 32 or more letters and digits; for example hma_<output of openssl rand -hex 32>',
      'HERMOD_DATABASE_URL_FILE names /run/secrets/url, whose text has a raw /, # or ? in its user or password; write %2F, %23 or %3F; for example postgres://hermod:password@127.0.0.1:5432/hermod',
    ])
  })

  it('are refused from a folder, without a path, and beside the secret itself', () => {
    expect(() => loadConfig({ HERMOD_SECRET_KEY_FILE: folder })).toThrow(
      `HERMOD_SECRET_KEY_FILE names ${folder}, which cannot be read: it is no regular file`,
    )
    expect(
      violationsOf(
        { HERMOD_CONFIG: 'h.json' },
        { 'h.json': '{"HERMOD_SECRET_KEY_FILE": ["/run/secrets/key"]}' },
      ),
    ).toEqual([
      'h.json: HERMOD_SECRET_KEY_FILE must be the path of a file; for example /run/secrets/secret-key',
    ])
    const both = { HERMOD_SECRET_KEY: key, HERMOD_SECRET_KEY_FILE: '/run/secrets/key' }
    expect(violationsOf(both, { '/run/secrets/key': key })).toEqual([
      'HERMOD_SECRET_KEY and HERMOD_SECRET_KEY_FILE are both set; remove one of them',
    ])
  })

  it('are refused from a device, a FIFO and a file without bounds, and so is the file of HERMOD_CONFIG', () => {
    const [fifo, long] = [join(folder, 'fifo'), join(folder, 'long')]
    execFileSync('mkfifo', [fifo])
    writeFileSync(long, '')
    truncateSync(long, 16 * 2 ** 20 + 1)
    const problems = {
      '/dev/null': 'it is no regular file',
      [fifo]: 'it is no regular file',
      [long]: 'it has more than 16 MiB',
    }
    for (const [path, problem] of Object.entries(problems)) {
      expect(() => loadConfig({ HERMOD_SECRET_KEY_FILE: path })).toThrow(
        `HERMOD_SECRET_KEY_FILE names ${path}, which cannot be read: ${problem}`,
      )
      expect(() => loadConfig({ HERMOD_CONFIG: path })).toThrow(
        `${path} (HERMOD_CONFIG) cannot be read: ${problem}`,
      )
    }
  })

  it('exist for secrets alone; an empty name counts as unset, and a misspelt one is explained', () => {
    expect(load({ HERMOD_SECRET_KEY_FILE: '' }).secrets.secretKey).toBeNull()
    expect(violationsOf({ HERMOD_HOST_FILE: '/run/secrets/host' })[0]).toMatch(
      /^HERMOD_HOST_FILE is not a known setting; the nearest known one is /,
    )
    expect(violationsOf({ HERMOD_SECRET_KEY_FIEL: '/run/secrets/key' })).toEqual([
      'HERMOD_SECRET_KEY_FIEL is not a known setting; the nearest known one is HERMOD_SECRET_KEY_FILE, for example HERMOD_SECRET_KEY_FILE=/run/secrets/secret-key',
    ])
  })
})
