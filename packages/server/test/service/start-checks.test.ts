/** What a start tells and refuses about its data folder, its lock and its key. */
import { chmodSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type ServerProcess, startServer, TempFolder, testBackends, waitFor } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { expectCode } from '../support/answer-codes.js'

const key = (letter: string) => letter.repeat(48)

describe('a start', () => {
  it('is refused while another process works there, also when somebody removed the lock file', async () => {
    await using server = await startServer()
    rmSync(join(server.dataDir, 'hermod.lock'))
    await expect(startServer({ dataDir: server.dataDir })).rejects.toThrow(
      `is in use by process ${server.pid}`,
    )
    await server.api.newSession()
  })

  it('makes a folder and a key for its user alone, and says when others have access to them', async () => {
    using folder = new TempFolder('modes')
    const dataDir = join(folder.path, 'data')
    const keyFile = join(dataDir, 'secret.key')
    const modes = () => [dataDir, keyFile].map((path) => statSync(path).mode & 0o777)
    {
      await using server = await startServer({ dataDir })
      expect(modes()).toEqual([0o700, 0o600])
      expect(server.output()).not.toContain('other users of this machine')
    }
    chmodSync(dataDir, 0o755)
    chmodSync(keyFile, 0o640)
    await using server = await startServer({ dataDir })
    const output = server.output()
    expect(output).toContain(`give ${dataDir} the mode 700`)
    expect(output).toContain(`give ${keyFile} the mode 600`)
    expect(modes()).toEqual([0o755, 0o640])
  })
})

describe.each(testBackends().filter(({ name }) => name === 'postgres'))(
  'a second node',
  (backend) => {
    it('with the key of the first one: keeps it from changing its key file while it lives', async () => {
      await using database = await backend.createDatabase()
      const databaseUrl = database.url as string
      const tokens = { operatorToken: `hmo_${'b'.repeat(48)}`, adminToken: `hma_${'a'.repeat(48)}` }
      await using first = await startServer({ ...tokens, databaseUrl })
      const [HERMOD_SECRET_KEY] = readFileSync(join(first.dataDir, 'secret.key'), 'utf8').split(
        '\n',
      )
      await using second = await startServer({ ...tokens, databaseUrl, env: { HERMOD_SECRET_KEY } })
      const rotate = ({ api }: ServerProcess) =>
        api.as(tokens.operatorToken).call('POST', '/operator/v1/secret/rotate')
      await expectCode(rotate(first), 'other_nodes_live')
      await expectCode(rotate(second), 'ok')
      await second.stop()
      await expectCode(rotate(first), 'ok')
    })

    it('with another key is refused in a sentence, wherever the key is from', async () => {
      await using database = await backend.createDatabase()
      const databaseUrl = database.url as string
      await using first = await startServer({ databaseUrl, env: { HERMOD_SECRET_KEY: key('a') } })
      const second = (env: Record<string, string>) => startServer({ databaseUrl, env })
      await expect(second({ HERMOD_SECRET_KEY: key('b') })).rejects.toThrow(
        'HERMOD_SECRET_KEY is not the right key',
      )
      await expect(second({})).rejects.toThrow(
        'nodes that share a database are all given the same HERMOD_SECRET_KEY',
      )
      await waitFor(async () => (await first.api.call('GET', '/readyz')).status === 200, {
        what: 'the first node to go on',
        timeoutMs: 5_000,
      })
    })
  },
)
