/** Faults that can be planted in a source file: small changes that a test should notice. */
import { SyntaxKind } from 'typescript/unstable/ast'

/**
 * @typedef {object} Fault
 * @property {string} operator kind of the fault
 * @property {number} start start of the replaced text, in UTF-16 code units
 * @property {number} end
 * @property {string} text replacement
 */

const otherOperators = new Map([
  [SyntaxKind.LessThanToken, '<='],
  [SyntaxKind.LessThanEqualsToken, '<'],
  [SyntaxKind.GreaterThanToken, '>='],
  [SyntaxKind.GreaterThanEqualsToken, '>'],
  [SyntaxKind.EqualsEqualsEqualsToken, '!=='],
  [SyntaxKind.ExclamationEqualsEqualsToken, '==='],
  [SyntaxKind.AmpersandAmpersandToken, '||'],
  [SyntaxKind.BarBarToken, '&&'],
  [SyntaxKind.MinusToken, '+'],
  [SyntaxKind.AsteriskToken, '+'],
])
/** Comparisons in statements of the query builder. */
const otherSqlOperators = new Map([
  ['<', '<='],
  ['<=', '<'],
  ['>', '>='],
  ['>=', '>'],
  ['=', '<>'],
  ['<>', '='],
  ['is', 'is not'],
  ['is not', 'is'],
  ['asc', 'desc'],
  ['desc', 'asc'],
])
const otherMethods = new Map([
  ['some', 'every'],
  ['every', 'some'],
  ['min', 'max'],
  ['max', 'min'],
])
const conditions = new Set([
  SyntaxKind.IfStatement,
  SyntaxKind.ConditionalExpression,
  SyntaxKind.WhileStatement,
])

/**
 * @param {import('typescript/unstable/ast').SourceFile} file
 * @returns {Fault[]} in the order of the text, without equal texts
 */
export function faultsIn(file) {
  /** @type {Fault[]} */
  const faults = []
  const add = (operator, node, text) =>
    faults.push({ operator, start: node.getStart(file), end: node.end, text })
  const visit = (node) => {
    if (isOfTypes(node)) return
    faultsOf(node, file, add)
    node.forEachChild(visit)
  }
  visit(file)
  return faults
}

/** Nodes that are absent at run time, or that only name modules. */
function isOfTypes(node) {
  return (
    node.kind === SyntaxKind.ImportDeclaration ||
    node.kind === SyntaxKind.InterfaceDeclaration ||
    node.kind === SyntaxKind.TypeAliasDeclaration ||
    node.kind === SyntaxKind.LiteralType ||
    (node.kind >= SyntaxKind.FirstTypeNode && node.kind <= SyntaxKind.LastTypeNode)
  )
}

function faultsOf(node, file, add) {
  const textOf = (each) => file.text.slice(each.getStart(file), each.end)
  if (conditions.has(node.kind)) {
    const condition = node.expression ?? node.condition
    add('negated condition', condition, `!(${textOf(condition)})`)
  }
  switch (node.kind) {
    case SyntaxKind.BinaryExpression: {
      const other = otherOperators.get(node.operatorToken.kind)
      if (other !== undefined) add('other operator', node.operatorToken, other)
      return
    }
    case SyntaxKind.ExpressionStatement:
      return ofStatement(node, textOf, add)
    case SyntaxKind.ThrowStatement:
      return add('removed throw', node, ';')
    case SyntaxKind.TrueKeyword:
      return add('other constant', node, 'false')
    case SyntaxKind.FalseKeyword:
      return add('other constant', node, 'true')
    case SyntaxKind.NumericLiteral:
      return add('other constant', node, `(${textOf(node)} + 1)`)
    case SyntaxKind.StringLiteral: {
      const other = otherSqlOperators.get(node.text)
      if (other !== undefined) add('other comparison in SQL', node, `'${other}'`)
      return
    }
    case SyntaxKind.PropertyAccessExpression: {
      const other = otherMethods.get(textOf(node.name))
      if (other !== undefined) add('other method', node.name, other)
      return
    }
  }
}

function ofStatement(node, textOf, add) {
  const { expression } = node
  if (/^super\b/.test(textOf(expression))) return
  add('removed statement', node, ';')
  if (expression.kind === SyntaxKind.AwaitExpression)
    add('dropped await', expression, `void ${textOf(expression.expression)}`)
}
