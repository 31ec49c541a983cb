/** Models the shop of tau2's retail domain: its database, and the tools that read and change it. */

import type { ServedTool } from '../serve-tools.ts'

type Address = Readonly<Record<'address1' | 'address2' | 'city' | 'state' | 'country' | 'zip', string>>
type Payment = { transaction_type: 'payment' | 'refund'; amount: number; payment_method_id: string }
type Item = { name: string; product_id: string; item_id: string; price: number; options: object }
type PaymentMethod = { source: string; id: string; balance?: number }
type Variant = { item_id: string; options: object; available: boolean; price: number }
type User = {
  name: { first_name: string; last_name: string }
  address: Address
  email: string
  payment_methods: Record<string, PaymentMethod>
}
type Order = {
  user_id: string
  address: Address
  items: Item[]
  status: string
  payment_history: Payment[]
  [more: string]: unknown
}
export type Shop = {
  products: Record<string, { name: string; product_id: string; variants: Record<string, Variant> }>
  users: Record<string, User>
  orders: Record<string, Order>
}
type Input = Readonly<Record<string, unknown>>

const cents = (amount: number): number => Math.round(amount * 100) / 100
const isGiftCard = ({ source }: PaymentMethod): boolean => source === 'gift_card'
const textOf = (input: Input, name: string): string => String(input[name])
const listOf = (input: Input, name: string): readonly string[] => (input[name] as readonly string[]).map(String)

function find<T>(record: Readonly<Record<string, T>>, id: string, noun: string): T {
  const found = record[id]
  if (found === undefined) throw new Error(`${noun} ${id} does not exist.`)
  return found
}

function require(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message)
}

const orderOf = ({ orders }: Shop, input: Input): Order => find(orders, textOf(input, 'order_id'), 'Order')
const methodOf = ({ users }: Shop, user: string, id: string): PaymentMethod =>
  find(find(users, user, 'User').payment_methods, id, 'Payment method')

function credit(method: PaymentMethod, amount: number): void {
  if (isGiftCard(method)) method.balance = cents((method.balance ?? 0) + amount)
}

/** Throws unless the order has the items as often as they are named. */
function requireItems({ items }: Order, ids: readonly string[]): void {
  const count = (list: readonly string[], id: string) => list.filter((one) => one === id).length
  const held = items.map(({ item_id: id }) => id)
  for (const id of ids) require(count(ids, id) <= count(held, id), `The order has no item ${id}.`)
}

/** The variants that replace items, and what they cost more. */
function chooseVariants({ products }: Shop, { items }: Order, ids: readonly string[], newIds: readonly string[]) {
  require(ids.length === newIds.length, 'Each item needs one that replaces it.')
  let difference = 0
  const variants = ids.map((id, at) => {
    const item = items.find((one) => one.item_id === id)
    require(item !== undefined, `The order has no item ${id}.`)
    const variant = find(find(products, item.product_id, 'Product').variants, newIds[at] ?? '', 'Variant')
    require(variant.available, `Variant ${variant.item_id} is not available.`)
    difference += variant.price - item.price
    return variant
  })
  return { variants, difference }
}

const addressIn = (input: Input): Address => {
  const field = (name: keyof Address) => textOf(input, name)
  return {
    address1: field('address1'),
    address2: field('address2'),
    city: field('city'),
    state: field('state'),
    country: field('country'),
    zip: field('zip'),
  }
}

function cancelOrder(shop: Shop, input: Input): Order {
  const order = orderOf(shop, input)
  require(order.status === 'pending', 'Only a pending order can be cancelled.')
  const refunds = order.payment_history.map((paid): Payment => ({
    ...paid,
    transaction_type: 'refund',
    amount: paid.amount,
  }))
  for (const { payment_method_id: id, amount } of refunds) credit(methodOf(shop, order.user_id, id), amount)
  order.status = 'cancelled'
  order['cancel_reason'] = textOf(input, 'reason')
  order.payment_history.push(...refunds)
  return order
}

/** Items of an order in a status, the variants that replace them, and the method that pays the difference. */
function planReplacement(shop: Shop, input: Input, status: string, refusal: string) {
  const order = orderOf(shop, input)
  require(order.status === status, refusal)
  const [ids, newIds] = [listOf(input, 'item_ids'), listOf(input, 'new_item_ids')]
  requireItems(order, ids)
  const { variants, difference } = chooseVariants(shop, order, ids, newIds)
  const method = methodOf(shop, order.user_id, textOf(input, 'payment_method_id'))
  require(!isGiftCard(method) || (method.balance ?? 0) >= cents(difference), 'The gift card cannot pay the difference.')
  return { order, ids, newIds, variants, difference, method }
}

function exchangeItems(shop: Shop, input: Input): Order {
  const refusal = 'Only a delivered order can be exchanged.'
  const { order, ids, newIds, difference, method } = planReplacement(shop, input, 'delivered', refusal)
  order.status = 'exchange requested'
  order['exchange_items'] = ids.toSorted()
  order['exchange_new_items'] = newIds.toSorted()
  order['exchange_payment_method_id'] = method.id
  order['exchange_price_difference'] = cents(difference)
  return order
}

function returnItems(shop: Shop, input: Input): Order {
  const order = orderOf(shop, input)
  require(order.status === 'delivered', 'Only a delivered order can be returned.')
  const method = methodOf(shop, order.user_id, textOf(input, 'payment_method_id'))
  const isOriginal = order.payment_history[0]?.payment_method_id === method.id
  require(isGiftCard(method) || isOriginal, 'A refund goes to the original method or a gift card.')
  const ids = listOf(input, 'item_ids')
  requireItems(order, ids)
  order.status = 'return requested'
  order['return_items'] = ids.toSorted()
  order['return_payment_method_id'] = method.id
  return order
}

function changeItems(shop: Shop, input: Input): Order {
  const refusal = 'Only a pending order can be changed, and only once.'
  const { order, ids, newIds, variants, difference, method } = planReplacement(shop, input, 'pending', refusal)
  require(ids.every((id, at) => id !== newIds[at]), 'A new item must differ from the old one.')
  order.payment_history.push({
    transaction_type: difference > 0 ? 'payment' : 'refund',
    amount: Math.abs(difference),
    payment_method_id: method.id,
  })
  credit(method, -difference)
  for (const [at, id] of ids.entries()) {
    const item = order.items.find((one) => one.item_id === id)
    const variant = variants[at]
    if (item && variant)
      Object.assign(item, { item_id: variant.item_id, price: variant.price, options: variant.options })
  }
  order.status = 'pending (item modified)'
  return order
}

function changePayment(shop: Shop, input: Input): Order {
  const order = orderOf(shop, input)
  require(order.status.includes('pending'), 'Only a pending order can be changed.')
  const [paid, ...more] = order.payment_history
  require(paid?.transaction_type === 'payment' && !more.length, 'The order must have exactly one payment.')
  const method = methodOf(shop, order.user_id, textOf(input, 'payment_method_id'))
  require(paid.payment_method_id !== method.id, 'The order is paid with this method already.')
  const { amount } = paid
  require(!isGiftCard(method) || (method.balance ?? 0) >= amount, 'The gift card cannot pay the order.')
  order.payment_history.push(
    { transaction_type: 'payment', amount, payment_method_id: method.id },
    { transaction_type: 'refund', amount, payment_method_id: paid.payment_method_id },
  )
  credit(method, -amount)
  credit(methodOf(shop, order.user_id, paid.payment_method_id), amount)
  return order
}

function changeOrderAddress(shop: Shop, input: Input): Order {
  const order = orderOf(shop, input)
  require(order.status.includes('pending'), 'Only a pending order can be changed.')
  order.address = addressIn(input)
  return order
}

function findUser({ users }: Shop, fits: (user: User) => boolean): string {
  const found = Object.entries(users).find(([, user]) => fits(user))
  require(found !== undefined, 'There is no such user.')
  return found[0]
}

const isSameText = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

function calculate(expression: string): string {
  require(/^[\d+\-*/(). ]+$/.test(expression), 'The expression has other characters.')
  // oxlint-disable-next-line no-new-func -- digits, operators and parentheses only
  const value = Number(new Function(`return (${expression})`)())
  return String(cents(value))
}

const text = { type: 'string' }
const texts = { type: 'array', items: text }
const address = { address1: text, address2: text, city: text, state: text, country: text, zip: text }
const exchange = { order_id: text, item_ids: texts, new_item_ids: texts, payment_method_id: text }

type Definition = {
  readonly fields: Readonly<Record<string, object>>
  readonly isRead?: true
  readonly run: (shop: Shop, input: Input) => unknown
}

/** Looks one row up by its id. */
const lookUp = <Row>(
  field: string,
  noun: string,
  table: (shop: Shop) => Readonly<Record<string, Row>>,
): Definition => ({
  fields: { [field]: text },
  isRead: true,
  run: (shop, input) => find(table(shop), textOf(input, field), noun),
})

const isSameField = (value: string, input: Input, field: string): boolean => isSameText(value, textOf(input, field))
const variantsOf = ({ products }: Shop): Record<string, Variant> =>
  Object.assign({}, ...Object.values(products).map(({ variants }) => variants))
const changeUserAddress = ({ users }: Shop, input: Input): User =>
  Object.assign(find(users, textOf(input, 'user_id'), 'User'), { address: addressIn(input) })

const definitions: Readonly<Record<string, Definition>> = {
  calculate: { fields: { expression: text }, isRead: true, run: (_, input) => calculate(textOf(input, 'expression')) },
  cancel_pending_order: { fields: { order_id: text, reason: text }, run: cancelOrder },
  exchange_delivered_order_items: { fields: exchange, run: exchangeItems },
  return_delivered_order_items: {
    fields: { order_id: text, item_ids: texts, payment_method_id: text },
    run: returnItems,
  },
  modify_pending_order_items: { fields: exchange, run: changeItems },
  modify_pending_order_payment: { fields: { order_id: text, payment_method_id: text }, run: changePayment },
  modify_pending_order_address: { fields: { order_id: text, ...address }, run: changeOrderAddress },
  modify_user_address: { fields: { user_id: text, ...address }, run: changeUserAddress },
  find_user_id_by_email: {
    fields: { email: text },
    isRead: true,
    run: (shop, input) => findUser(shop, ({ email }) => isSameField(email, input, 'email')),
  },
  find_user_id_by_name_zip: {
    fields: { first_name: text, last_name: text, zip: text },
    isRead: true,
    run: (shop, input) =>
      findUser(
        shop,
        ({ name, address: { zip } }) =>
          isSameField(name.first_name, input, 'first_name') &&
          isSameField(name.last_name, input, 'last_name') &&
          zip === textOf(input, 'zip'),
      ),
  },
  get_order_details: lookUp('order_id', 'Order', ({ orders }) => orders),
  get_product_details: lookUp('product_id', 'Product', ({ products }) => products),
  get_item_details: lookUp('item_id', 'Item', variantsOf),
  get_user_details: lookUp('user_id', 'User', ({ users }) => users),
  list_all_product_types: {
    fields: {},
    isRead: true,
    run: ({ products }) => Object.fromEntries(Object.values(products).map(({ name, product_id: id }) => [name, id])),
  },
  transfer_to_human_agents: { fields: { summary: text }, isRead: true, run: () => 'Transferred.' },
}

export const retailTools: readonly ServedTool[] = Object.entries(definitions).map(([name, { fields, isRead }]) => ({
  name,
  description: name.replaceAll('_', ' '),
  inputSchema: { type: 'object', properties: fields, required: Object.keys(fields) },
  annotations: { readOnlyHint: isRead ?? false },
}))

export const isRead = (name: string): boolean => definitions[name]?.isRead ?? false

export const callRetail = (shop: Shop, name: string, input: Input): unknown =>
  find(definitions, name, 'Tool').run(shop, input)
