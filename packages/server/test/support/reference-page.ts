/** A sample of the page /docs, its pictures, and functions that run in it. */
import { join } from 'node:path'
import { isFullRun } from '@hermod/testkit'
import type { Page, Route } from 'playwright-core'

const shots = join(import.meta.dirname, '../../../../test-output/docs')

/** Leaves a picture of the page in the full run. */
export async function shoot(page: Page, name: string): Promise<void> {
  if (isFullRun) await page.screenshot({ path: join(shots, `${name}.png`) })
}

/** Returns the width of the widest part, with all folded parts open. */
export function widestPart(): number {
  for (const folded of document.querySelectorAll('details')) folded.open = true
  for (const each of document.querySelectorAll<HTMLElement>('article'))
    each.style.contentVisibility = 'visible'
  return document.documentElement.scrollWidth
}

/** Operations of the short run: axe and wide layouts take seconds for all. */
export const sample = [
  ...['token.login', 'user.profile.get', 'user.private.update', 'presence.subscribe'],
  ...['message.send', 'message.get', 'message.recall', 'operator.app.list', 'file.upload'],
]
const sampleErrors = /^error-(?:user|token|blocked)/

/** Answers the page with a sample of its operations, and all else of it. */
export async function answerSample(route: Route): Promise<void> {
  const response = await route.fetch()
  const isKept = (id: string | undefined) => id !== undefined && sample.includes(id)
  const body = (await response.text())
    .replaceAll(/<article id="([^"]+)".*?<\/article>/gs, (all, id) => (isKept(id) ? all : ''))
    .replaceAll(/<li><a href="#([^"]+)".*?<\/li>/g, (all, id) =>
      isKept(id) || sampleErrors.test(id) ? all : '',
    )
    .replaceAll(/<div id="([^"]+)" class="error">.*?<\/div>/g, (all, id) =>
      sampleErrors.test(id) ? all : '',
    )
  await route.fulfill({ response, body })
}

/** Leaves the one operation with all parts: axe looks at each element. */
export function leaveOpenOperation(): void {
  for (const each of document.querySelectorAll('article'))
    if (each.id !== 'message.send') each.remove()
}

/** Milliseconds until the page is ready, then from each key to the next frame. */
export async function speed(): Promise<number[]> {
  const [navigation] = performance.getEntriesByType('navigation')
  const times = [Math.round((navigation as PerformanceNavigationTiming).domContentLoadedEventEnd)]
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  const input = document.querySelector<HTMLInputElement>('#filter')
  if (input === null) throw new Error('no filter')
  for (const end of Array.from('message reply_to', (_, index) => index + 1)) {
    const start = performance.now()
    input.value = 'message reply_to'.slice(0, end)
    input.dispatchEvent(new Event('input'))
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
    times.push(Math.round(performance.now() - start))
  }
  return times
}
