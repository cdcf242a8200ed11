import type { DemoActor } from './actor.js'

/**
 * Scrolls to the oldest loaded message and waits until older ones are above it.
 * @throws Error when it does not stay where it was
 */
export async function readBack({ messages, side }: DemoActor): Promise<void> {
  const oldest = messages.first()
  const key = (await oldest.getAttribute('data-message')) ?? ''
  await oldest.evaluate((element) => element.scrollIntoView({ block: 'start' }))
  const marked = side.locator(`[data-message="${key}"]`)
  const top = () => marked.evaluate((element) => element.getBoundingClientRect().top)
  const before = await top()
  await side.locator(`[data-message] ~ [data-message="${key}"]`).waitFor()
  const moved = Math.abs((await top()) - before)
  if (moved > 1) throw new Error(`the place has moved by ${moved} pixels`)
}
