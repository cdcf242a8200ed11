import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import sharp from 'sharp'
import { DemoActor } from './actor.js'

const windowSize = { width: 1360, height: 820 }
/** The longest wait for something to appear. */
const patienceMs = 15_000

/** The page in a browser, and the two users who play on it. */
export class Stage {
  readonly ada: DemoActor
  readonly ben: DemoActor
  readonly #shots: string | undefined

  private constructor(
    readonly page: Page,
    shots: string | undefined,
  ) {
    this.ada = new DemoActor(page, 'Ada')
    this.ben = new DemoActor(page, 'Ben')
    this.#shots = shots
  }

  /** @param shots the folder for screenshots; undefined: none */
  static async open(browser: Browser, url: string, shots: string | undefined): Promise<Stage> {
    const page = await browser.newPage({ viewport: windowSize, colorScheme: 'light' })
    page.setDefaultTimeout(patienceMs)
    await page.goto(url)
    return new Stage(page, shots)
  }

  /** Saves a screenshot, if they are wanted. */
  async shoot(name: string): Promise<void> {
    if (this.#shots === undefined) return
    await this.page.mouse.move(0, 0)
    const picture = await this.page.screenshot({ animations: 'disabled' })
    // Half the size, and looks the same.
    const small = sharp(picture).png({ palette: true })
    await small.toFile(join(this.#shots, `demo-${name}.png`))
  }

  /** A window of the width of a phone; false: as before. */
  async setNarrow(isNarrow: boolean): Promise<void> {
    await this.page.setViewportSize(isNarrow ? { width: 390, height: 780 } : windowSize)
  }
}
