/** The scene of `hermod demo --headless`: a browser plays what two users do. */
import { mkdir } from 'node:fs/promises'
import { findChromium } from '@hermod/testkit'
import type { Browser } from 'playwright-core'
import { Stage } from './stage.js'
import { steps } from './steps.js'

/** The scene that a browser plays on the page of the demo. */
export interface DemoScene {
  /** The folder for screenshots; absent: none. */
  readonly screenshots?: string
  /** Called with each step as it begins. */
  step(text: string): void
}

/**
 * Plays all steps on the page of a demo.
 * @throws Error when the page does not show what a step expects
 */
export async function playScene(
  browser: Browser,
  url: string,
  { screenshots, step }: DemoScene,
): Promise<void> {
  if (screenshots !== undefined) await mkdir(screenshots, { recursive: true })
  const stage = await Stage.open(browser, url, screenshots)
  for (const { text, play } of steps) {
    step(text)
    await play(stage).catch(async (error: unknown) => {
      await stage.shoot('failure').catch(() => {})
      throw error
    })
  }
  step(`Done: ${steps.length} steps, as expected.`)
}

/** @throws Error when there is no browser, or no playwright-core */
export async function launchBrowser(): Promise<Browser> {
  const executablePath = findChromium()
  if (executablePath === null)
    throw new Error(
      'demo --headless needs Chromium or Chrome, and none was found in PATH; without --headless the page opens in any browser',
    )
  const { chromium } = await import('playwright-core').catch(() => {
    throw new Error(
      'demo --headless needs the package playwright-core, which is not installed: npm install playwright-core',
    )
  })
  // The sandbox of Chromium does not run as root.
  const args = process.getuid?.() === 0 ? ['--no-sandbox', '--disable-dev-shm-usage'] : []
  return chromium.launch({ executablePath, args })
}
