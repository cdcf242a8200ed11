/** Checks of a page in a browser: accessibility by axe, and the place of the focus. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Returns what axe finds wrong, with the places. @param options of axe.run */
export async function violations(page: Page, options: object = {}): Promise<string[]> {
  await page.evaluate(axe)
  const found = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as {
    violations: { id: string; nodes: { target: string[] }[] }[]
  }
  return found.violations.map(({ id, nodes }) =>
    [id, ...nodes.map(({ target }) => target.join(' '))].join(': '),
  )
}

/** Presses the tab key until an element has the focus. */
export async function tabTo(page: Page, selector: string): Promise<void> {
  const isThere = () => page.evaluate(`document.activeElement.matches('${selector}')`)
  for (let presses = 0; presses < 20 && !(await isThere()); presses++)
    await page.keyboard.press('Tab')
  expect(await isThere()).toBe(true)
}

/** Returns the text of the element with the focus. */
export function focusText(page: Page): Promise<string> {
  return page.evaluate('document.activeElement.textContent')
}
