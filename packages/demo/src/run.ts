import { startClusterDemo } from './cluster/cluster-demo.js'
import { startDemo } from './demo.js'
import { type DemoScene, launchBrowser, playScene } from './scene/scene.js'

export interface DemoOptions {
  /** 0: any free port. */
  readonly port: number
  /** Absent: the page is for people, until a signal. */
  readonly scene?: DemoScene
  /** Three nodes on a PostgreSQL; absent: one process with the embedded database. */
  readonly cluster?: { readonly databaseUrl?: string }
  /** Called with the address of the page. */
  started(url: string): void
}

/**
 * Runs the demo until its scene has been played, or without a scene until it is stopped.
 * @param stopped resolves to end it
 */
export async function runDemo(
  { port, scene, cluster, started }: DemoOptions,
  stopped: Promise<void>,
): Promise<void> {
  await using browser = scene && (await launchBrowser())
  const demo = await (cluster ? startClusterDemo({ port, ...cluster }) : startDemo({ port }))
  try {
    started(demo.url)
    if (scene && browser) await Promise.race([stopped, playScene(browser, demo.url, scene)])
    else await stopped
  } finally {
    await browser?.close()
    await demo.stop()
  }
}
