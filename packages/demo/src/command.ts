/** The command `hermod demo`, which `@hermod/server` loads. */
import type { Writable } from 'node:stream'
import { portParser } from '@hermod/server/dist/commands/runtime/command.js'
import { stopSignal } from '@hermod/server/dist/lib/system/stop-signal.js'
import type { Command } from 'commander'
import type { DemoOptions } from './run.js'

interface DemoCommandOptions {
  readonly port: number
  readonly headless?: boolean
  readonly screenshots?: string
  readonly cluster?: boolean
  readonly database?: string
}

const defaultPort = 8347
const lastPort = 65_535

/**
 * Adds the command to `hermod`.
 * @param run replaces the demo in tests
 */
export function addDemoCommand(
  program: Command,
  { dependencies: { stdout } }: { readonly dependencies: { readonly stdout: Writable } },
  run: (options: DemoOptions) => Promise<void> = runUntilStopped,
): void {
  const demo = program
    .command('demo')
    .description('Runs a server on a temporary folder and a chat page with two users on it.')
    .option(
      '--port <port>',
      'a port of 127.0.0.1; 0: any free one',
      portParser(lastPort),
      defaultPort,
    )
    .option('--headless', 'play a scene in Chromium, print its steps and end')
    .option('--screenshots <folder>', 'with --headless: save pictures of the page there')
    .option('--cluster', 'three nodes on one PostgreSQL, which the page kills and starts again')
    .option(
      '--database <url>',
      'with --cluster: an empty PostgreSQL database; without it a temporary PostgreSQL starts',
    )
  demo.action(async (given: DemoCommandOptions) => {
    const { port, headless = false, screenshots, cluster = false, database } = given
    if (screenshots !== undefined && !headless) demo.error('error: --screenshots needs --headless')
    if (database !== undefined && !cluster) demo.error('error: --database needs --cluster')
    const step = (text: string) => stdout.write(`${text}\n`)
    const options: DemoOptions = {
      port,
      started: ({ url, nodeDir }) =>
        step(headless ? `The page is at ${url}` : invitation(url, nodeDir, database)),
      ...(cluster && {
        cluster: {
          ...(database !== undefined && { databaseUrl: database }),
          ...(!headless && { report: (text: string) => step(`  ${text}`) }),
        },
      }),
      ...(headless && { scene: { step, ...(screenshots !== undefined && { screenshots }) } }),
    }
    await run(options).catch((error: unknown) => {
      throw explainPort(error, port)
    })
  })
}

async function runUntilStopped(options: DemoOptions): Promise<void> {
  const { runDemo } = await import('./run.js')
  await runDemo(options, stopSignal())
}

function explainPort(error: unknown, port: number): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code !== 'EADDRINUSE' || syscall !== 'listen') return error
  return new Error(`port ${port} is in use; choose another one with --port, or 0 for any`)
}

function invitation(url: string, nodeDir?: string, database?: string): string {
  const nodes = `
  The sides are on different nodes. Kill the node of one: its client goes on with another node.
  The nodes as an operator sees them: HERMOD_DATA_DIR=${nodeDir} npx hermod nodes
`
  const rest = database === undefined ? '' : ' The tables stay in the database of --database.'
  return `
  Two users in one window: ${url}

  Write on one side, read on the other. Switch a side offline, write, and switch it on again.${nodeDir ? nodes : ''}
  The page is examples/chat. Ctrl+C ends the demo and removes its data.${rest}
`
}
