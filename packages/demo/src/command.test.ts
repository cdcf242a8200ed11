import { PassThrough } from 'node:stream'
import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { addDemoCommand } from './command.js'

/** Runs one command line on a fake demo. */
async function run(line: string) {
  const done: string[] = []
  const stdout = new PassThrough()
  const program = new Command('hermod')
    .exitOverride()
    .configureOutput({ writeErr: (text) => done.push(text) })
  addDemoCommand(
    program,
    { dependencies: { stdout } },
    async ({ port, scene, cluster, started }) => {
      done.push(`demo ${port} ${scene?.screenshots}`)
      if (cluster) done.push(`cluster ${cluster.databaseUrl}`)
      if (port === 81) throw Object.assign(new Error(), { code: 'EADDRINUSE', syscall: 'listen' })
      started({ url: 'http://127.0.0.1:4000/demo', ...(cluster && { nodeDir: '/tmp/node-3' }) })
      cluster?.report?.('node 2 was killed')
      scene?.step('Ada writes')
    },
  )
  const failure = await program.parseAsync(line.split(' '), { from: 'user' }).then(
    () => undefined,
    (error: Error) => error.message,
  )
  return { done, failure, out: stdout.setEncoding('utf8').read() as string | null }
}

describe('hermod demo', () => {
  it('prints the address of the page', async () => {
    const { done, out } = await run('demo --port 4000')
    expect(done).toEqual(['demo 4000 undefined'])
    expect(out).toContain('http://127.0.0.1:4000/demo\n')
  })

  it('prints the steps of the scene', async () => {
    const { done, out } = await run('demo --headless --screenshots shots')
    expect(done).toEqual(['demo 8347 shots'])
    expect(out).toContain('The page is at http://127.0.0.1:4000/demo\nAda writes\n')
  })

  it('takes screenshots of a scene only, and ports that exist', async () => {
    expect((await run('demo --screenshots shots')).done).toEqual([
      'error: --screenshots needs --headless\n',
    ])
    expect((await run('demo --port 65536')).failure).toContain('It is a number from 0 to 65535.')
  })

  it('starts several nodes on a database, or on a temporary PostgreSQL', async () => {
    const temporary = await run('demo --cluster')
    expect(temporary.done).toEqual(['demo 8347 undefined', 'cluster undefined'])
    expect(temporary.out).toContain('HERMOD_DATA_DIR=/tmp/node-3 npx hermod nodes')
    expect(temporary.out).toMatch(/\n {2}node 2 was killed\n$/)
    const { done } = await run('demo --cluster --database postgres://db/demo')
    expect(done).toEqual(['demo 8347 undefined', 'cluster postgres://db/demo'])
    expect((await run('demo --database postgres://db/demo')).done).toEqual([
      'error: --database needs --cluster\n',
    ])
  })

  it('refuses a port in use in a sentence', async () => {
    const sentence = 'port 81 is in use; choose another one with --port, or 0 for any'
    expect((await run('demo --port 81')).failure).toBe(sentence)
  })
})
