/** The demo: a server on a temporary folder with two users, and a page that shows both. */
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadConfig } from '@hermod/server/dist/config/config.js'
import { startService } from '@hermod/server/dist/context/server/server.js'
import { Lifecycle } from '@hermod/server/dist/lib/lifecycle.js'
import { createLog } from '@hermod/server/dist/observability/log.js'
import { freePort } from '@hermod/testkit'
import { startAssistant } from './assistant/assistant.js'
import { DemoClock } from './demo-clock.js'
import { DemoServer } from './demo-server.js'
import { demoRoutes } from './routes.js'
import { createWorld } from './world/world.js'

/** A running demo. */
export interface RunningDemo {
  /** The address of the page. */
  readonly url: string
  /** The data folder of one of several nodes. */
  readonly nodeDir?: string
  /** Stops the server and removes its folder. */
  stop(): Promise<void>
}

/** The page as `npm run build` made it. */
export const pageFolder = fileURLToPath(new URL('./page', import.meta.url))
export const appId = 'demo'

/**
 * Starts the demo on 127.0.0.1. Settings of the environment do not apply.
 * @param options.port 0: any free port
 * @throws Error when the page was not built
 */
export function startDemo({ port: given }: { readonly port: number }): Promise<RunningDemo> {
  requirePage()
  return Lifecycle.start(async (parts) => {
    const folder = parts.add(makeFolder(), removeFolder)
    // The origin of the page, the only one that may call the server, has the port.
    const port = given === 0 ? await freePort() : given
    const loaded = loadConfig({
      PATH: process.env.PATH,
      HERMOD_HOST: '127.0.0.1',
      HERMOD_PORT: String(port),
      HERMOD_DATA_DIR: folder,
      HERMOD_RATE_LIMIT: 'off',
      HERMOD_CORS_ORIGINS: `http://127.0.0.1:${port},http://localhost:${port}`,
      HERMOD_BOOTSTRAP_APP_ID: appId,
    })
    const clock = new DemoClock()
    let session = ''
    const service = parts.add(
      await startService(loaded, createLog('error', process.stderr), {
        clock,
        routes: (options) => demoRoutes(options, { folder: pageFolder, session: () => session }),
      }),
      (each) => each.stop(),
    )
    const { first } = service
    if (first === null) throw new Error('the folder of the demo is not empty')
    const { users, assistant } = await createWorld(new DemoServer(service.url, first), clock)
    session = JSON.stringify({ appId: first.appId, users })
    parts.add(await startAssistant({ url: service.url, appId, ...assistant }), (each) =>
      each.close(),
    )
    return { url: `${service.url}/demo`, stop: () => parts.stop() }
  })
}

/** @throws Error when the page was not built */
export function requirePage(): void {
  if (!existsSync(join(pageFolder, 'chat.js')))
    throw new Error('the page of the demo is not built; run npm run build in the checkout')
}

/** Makes a temporary folder, which is removed when the process ends. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'hermod-demo-'))
  // An error that ends the process leaves nothing behind either.
  process.once('exit', () => removeFolder(folder))
  return folder
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
}
