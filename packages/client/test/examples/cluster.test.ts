/** The cluster of examples/cluster: a client of it through the end of a node. */
import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { findPostgres, isFullRun, waitFor } from '@hermod/testkit'
import { expect, it } from 'vitest'

const folder = resolve(import.meta.dirname, '../../../../examples/cluster')
const hasPrograms = findPostgres() !== null && spawnSync('haproxy', ['-v']).status === 0

it('says what is missing on a machine without HAProxy', () => {
  const env = { ...process.env, PATH: folder }
  const { status, stderr } = spawnSync(process.execPath, ['cluster.js'], { cwd: folder, env })
  expect([status, String(stderr)]).toEqual([1, expect.stringContaining('HAProxy is missing')])
})

if (hasPrograms)
  it('ends with the reason when a node does not start', async () => {
    const HERMOD_DATABASE_URL = 'postgres://hermod@127.0.0.1:1/none'
    const env = { PATH: process.env.PATH, CLUSTER_PORT: '1000', HERMOD_DATABASE_URL }
    const { status, stderr } = spawnSync(process.execPath, ['cluster.js'], { cwd: folder, env })
    expect([status, String(stderr)]).toEqual([1, expect.stringContaining('cannot be used')])
  })

if (isFullRun && hasPrograms)
  it('the cluster answers through HAProxy while a node is killed and comes back', async () => {
    // Four ports in a row, below those that the system gives to other tests.
    const port = 15_000 + (process.pid % 1_000) * 10
    // Without the settings of the tests, which nodes refuse.
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith('HERMOD_'))
    const cluster = spawn(process.execPath, ['cluster.js'], {
      cwd: folder,
      env: { ...Object.fromEntries(own), CLUSTER_PORT: String(port) },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    try {
      const lines: string[] = []
      createInterface({ input: cluster.stdout }).on('line', (line) => lines.push(line))
      const shown = (text: string) =>
        waitFor(() => lines.find((line) => line.includes(text)), {
          what: text,
          timeoutMs: 60_000,
        })
      const token = (await shown('Admin token')).split(' ').at(-1) as string
      const call = async (path: string, body: object) => {
        const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
          method: 'POST',
          headers: { app_id: 'hermod', access_token: token, 'content-type': 'application/json' },
          body: JSON.stringify(body),
          signal: AbortSignal.timeout(5_000),
        })
        return (await answer.json()) as { code: number; message?: string }
      }
      const register = (name: string) =>
        call('/user/register/v2', { username: name, password: 'a password of ann' })
      expect(await register('ann')).toMatchObject({ code: 200 })
      cluster.stdin.write('kill 2\n')
      cluster.stdin.write('nodes\n')
      await shown('away')
      await waitFor(
        async () => (await register(`bob${randomBytes(6).toString('hex')}`)).code === 200,
        {
          what: 'answers of the other nodes',
          timeoutMs: 20_000,
        },
      )
      lines.length = 0
      cluster.stdin.write('start 2\n')
      await waitFor(
        async () => {
          cluster.stdin.write('nodes\n')
          return lines.some((line) => line.includes('node-2') && line.includes('ready'))
        },
        { what: 'the node that was killed', timeoutMs: 60_000, everyMs: 500 },
      )
    } finally {
      cluster.kill('SIGTERM')
      if (cluster.exitCode === null) await once(cluster, 'exit')
    }
  })
