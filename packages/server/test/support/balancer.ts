import { Api } from '@hermod/testkit'

/** A caller behind a balancer that takes another node for each call. */
export function roundRobin(nodes: readonly Api[]): Api {
  const [first] = nodes
  if (!first) throw new Error('a balancer needs nodes')
  let calls = 0
  return new Api({
    ...first.options,
    exchange({ method, path, headers, body: rawBody }) {
      const node = nodes[calls++ % nodes.length] as Api
      return node.call(method, path, { headers, ...(rawBody === undefined ? {} : { rawBody }) })
    },
  })
}
