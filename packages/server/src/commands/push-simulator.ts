import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Command } from 'commander'
import {
  type CommandContext,
  type PushSimulation,
  portParser,
  printingCommand,
  type SimulatedCall,
} from './runtime/command.js'
import { byDefault, commandOf, option } from './runtime/fields.js'
import { formatTable } from './runtime/output.js'

const lastPort = 65_528
const maxShownLength = 2_000

const fields = {
  port: byDefault(
    option('--port <port>', 'the first of eight ports; 0: any free ones', portParser(lastPort)),
    0,
  ),
  receipts: option(
    '--receipts <url>',
    'where the gateways of vendor_h and vendor_n send their receipts',
  ),
  out: option(
    '--out <folder>',
    'write the certificate of each channel there as JSON, the service account of vendor_h, and ca.pem',
  ),
}

export function addPushSimulatorCommand(program: Command, context: CommandContext): void {
  const command = printingCommand(
    program,
    'push-simulator',
    'Runs simulated push gateways of all channels on loopback ports and prints what they get.',
  )
  commandOf(command, context, fields, async ({ port, receipts, out }, options) => {
    const printer = context.printer(options)
    await context.dependencies.simulatePush({
      firstPort: port,
      receiptUrl: receipts,
      async started(simulation) {
        if (out !== undefined) await writeFiles(out, simulation)
        printer.print(simulation, () => startText(simulation, out))
      },
      received(call) {
        printer.print(call, () => callText(call))
      },
    })
  })
}

/** The keys are readable by this user only, although just the simulator uses them. */
async function writeFiles(folder: string, simulation: PushSimulation): Promise<void> {
  const { gateways, ca, vendor_h_account } = simulation
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'ca.pem'), ca)
  await writeFile(join(folder, 'vendor_h-account.json'), `${vendor_h_account}\n`)
  for (const gateway of gateways) {
    const file = join(folder, `${gateway.channel}.json`)
    await writeFile(file, `${JSON.stringify(gateway, null, 2)}\n`)
  }
}

function startText({ gateways, scripts }: PushSimulation, folder: string | undefined): string {
  const table = gateways.map(({ channel, send_url, gateway_app_id, app_key, app_secret }) => ({
    channel,
    send_url,
    gateway_app_id,
    app_key,
    app_secret,
  }))
  return [
    formatTable(table, ''),
    '',
    folder === undefined
      ? 'The whole certificates are in the files that --out <folder> writes.'
      : `The whole certificates are in ${folder}, for hermod certificate set <name> --from <file>.`,
    '',
    'Device tokens of these beginnings get another answer than success:',
    '',
    formatTable(scripts, ''),
    '',
  ].join('\n')
}

function callText({ at, channel, method, path, answer, body }: SimulatedCall): string {
  const shown = body.length > maxShownLength ? `${body.slice(0, maxShownLength)} …` : body
  return `${new Date(at).toISOString()} ${channel} ${method} ${path}: ${answer}\n  ${readableBody(shown)}`
}

/** The body with forms as fields, and others as they are. */
function readableBody(body: string): string {
  if (body.startsWith('{')) return body
  return [...new URLSearchParams(body)].map(([name, value]) => `${name}=${value}`).join('\n  ')
}
