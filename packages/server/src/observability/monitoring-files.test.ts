/** The metrics of docs/guides/metrics.md, of the alert rules and of the dashboard: all of them exist. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it, vi } from 'vitest'
import { Metrics } from './metrics.js'
import { Histogram, Registry } from './prom-client.js'

const root = join(import.meta.dirname, '../../../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const rules = read('deploy/monitoring/alerts.yaml')
const runbook = read('docs/guides/runbook.md')

/** The labels that Prometheus adds. */
const ofPrometheus = ['instance', 'job', 'le']

/** The labels of each metric, by its names in queries. */
const labelsOf = new Map<string, readonly string[]>([['up', []]])
const registered: string[] = []

/** A metric of prom-client, whose types leave these members out. */
interface RegisteredMetric {
  readonly name: string
  readonly labelNames: readonly string[]
}

beforeAll(() => {
  vi.spyOn(Registry.prototype, 'registerMetric').mockImplementation((metric) => {
    const { name, labelNames } = metric as unknown as RegisteredMetric
    registered.push(name)
    const ends = metric instanceof Histogram ? ['_bucket', '_sum', '_count'] : ['']
    for (const end of ends) labelsOf.set(name + end, labelNames)
  })
  registerAll()
  vi.restoreAllMocks()
})

/** Makes the metrics of a service, those that are read at each collection included. */
function registerAll(): void {
  const none = () => 0
  const queued = {
    messages: none,
    messageBytes: none,
    positions: none,
    files: none,
    devices: none,
    sessions: none,
  }
  const metrics = new Metrics(queued as never)
  for (const part of Object.values(metrics))
    for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(part)))
      if (name.startsWith('watch')) part[name](() => [])
}

/** Metrics with the labels that a query compares or groups by. */
function usesOf(query: string): readonly { readonly name: string; readonly labels: string[] }[] {
  const text = query.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')
  const groups = [...text.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(', '),
  )
  return [...text.matchAll(/\b(up|(?:hermod|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', matchers = '']) => ({
      name,
      labels: [
        ...groups,
        ...[...matchers.matchAll(/(\w+)(?:=|!)/g)].map(([, label = '']) => label),
      ],
    }),
  )
}

/** @returns what is wrong with the metrics of a query */
function faultsOf(query: string): string[] {
  return usesOf(query).flatMap(({ name, labels }) => {
    const known = labelsOf.get(name)
    if (known === undefined) return [`${name} does not exist`]
    return labels
      .filter((label) => ![...known, ...ofPrometheus].includes(label))
      .map((label) => `${name} has no label ${label}`)
  })
}

const expressions = [...rules.matchAll(/expr: \|\n((?: {10}.*\n)+)/g)].map(([, text = '']) => text)
const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name)

it('a query with an unknown metric or label is found', () => {
  expect(
    faultsOf('sum by (colour) (rate(hermod_jobs_total{kind="a",size="b"}[5m])) + hermod_joy'),
  ).toEqual([
    'hermod_jobs_total has no label colour',
    'hermod_jobs_total has no label size',
    'hermod_joy does not exist',
  ])
})

it('every metric and label of the alert rules exists', () => {
  expect(expressions).toHaveLength(alerts.length)
  expect(expressions.flatMap(faultsOf)).toEqual([])
})

it('the labels that a summary shows are those of the metric', () => {
  const faults = rules
    .split('- alert: ')
    .slice(1)
    .flatMap((rule) => {
      const known = usesOf(rule).flatMap(({ name }) => labelsOf.get(name) ?? [])
      return [...rule.matchAll(/\$labels\.(\w+)/g)]
        .map(([, label = '']) => label)
        .filter((label) => ![...known, ...ofPrometheus].includes(label))
    })
  expect(faults).toEqual([])
})

it('every metric and label of the dashboard exists', () => {
  const { panels } = JSON.parse(read('deploy/monitoring/dashboard.json'))
  const queries = panels.flatMap((panel: { targets?: { expr: string }[] }) => panel.targets ?? [])
  expect(queries.length).toBeGreaterThan(30)
  expect(queries.flatMap(({ expr }: { expr: string }) => faultsOf(expr))).toEqual([])
})

it('the runbook has a section for each rule, which leads to it', () => {
  const sections = [...runbook.matchAll(/^### (\w+)$/gm)].map(([, name = '']) => name)
  expect(sections).toEqual(alerts)
  const anchors = [...rules.matchAll(/runbook: docs\/guides\/runbook\.md#(\w+)/g)].map(
    ([, name]) => name,
  )
  expect(anchors).toEqual(alerts.map((name) => name.toLowerCase()))
})

it('the page of metrics lists all metrics of the service, and no other one', () => {
  const listed = [...read('docs/guides/metrics.md').matchAll(/^\| (`hermod_.*?) \|/gm)].flatMap(
    ([, cell = '']) => cell.match(/hermod_\w+/g) ?? [],
  )
  expect(listed.toSorted()).toEqual(
    registered.filter((name) => name.startsWith('hermod_')).toSorted(),
  )
})
