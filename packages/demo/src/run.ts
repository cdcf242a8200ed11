import { type ClusterDemoOptions, startClusterDemo } from './cluster/cluster-demo.js'
import { type RunningDemo, startDemo } from './demo.js'
import { type DemoScene, launchBrowser, playScene } from './scene/scene.js'

export interface DemoOptions {
  /** 0: any free port. */
  readonly port: number
  /** Absent: the page is for people, until a signal. */
  readonly scene?: DemoScene
  /** Three nodes on a PostgreSQL; absent: one process with the embedded database. */
  readonly cluster?: Omit<ClusterDemoOptions, 'port'>
  /** Called when the page can be opened. */
  started(demo: Omit<RunningDemo, 'stop'>): void
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
    started(demo)
    if (scene && browser) await Promise.race([stopped, playScene(browser, demo.url, scene)])
    else await stopped
  } finally {
    await browser?.close()
    await demo.stop()
  }
}
