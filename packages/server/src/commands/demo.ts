import type { Command } from 'commander'
import { CommandFailure } from './runtime/call.js'
import { type CommandContext, type DemoOptions, portParser } from './runtime/command.js'

interface DemoCommandOptions {
  readonly port: number
  readonly headless?: boolean
  readonly screenshots?: string
}

const defaultPort = 8347
const lastPort = 65_535

export function addDemoCommand(program: Command, context: CommandContext): void {
  const { stdout } = context.dependencies
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
  demo.action(async ({ port, headless = false, screenshots }: DemoCommandOptions) => {
    if (screenshots !== undefined && !headless) demo.error('error: --screenshots needs --headless')
    const step = (text: string) => stdout.write(`${text}\n`)
    const options: DemoOptions = {
      port,
      started: (url) => step(headless ? `The page is at ${url}` : invitation(url)),
      ...(headless && { scene: { step, ...(screenshots !== undefined && { screenshots }) } }),
    }
    await context.dependencies.runDemo(options).catch((error: unknown) => {
      throw explainPort(error, port)
    })
  })
}

function explainPort(error: unknown, port: number): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code !== 'EADDRINUSE' || syscall !== 'listen') return error
  return new CommandFailure(`port ${port} is in use; choose another one with --port, or 0 for any`)
}

function invitation(url: string): string {
  return `
  Two users in one window: ${url}

  Write on one side, read on the other. Switch a side offline, write, and switch it on again.
  The page is examples/chat. Ctrl+C ends the demo and removes its data.
`
}
