"""Tables: each party gives rows, and both learn a number about all of them."""

import brickwork as bw
import pandas as pd


class Sale(bw.Struct):
    customer: bw.u32
    amount: bw.u32


@bw.program
def spent(sales: bw.Garbler[bw.Array[Sale, 3]], customers: bw.Evaluator[bw.u32[2]]) -> bw.Both[bw.u32]:
    bought = [bw.where(sale.customer == one, sale.amount, 0) for sale in sales for one in customers]
    return bw.sum(bought)


def main() -> None:
    sales = pd.DataFrame({"customer": [7, 8, 11], "amount": [100, 20, 3]})
    # The sum that the garbler's customers have bought, for customers of both parties.
    assert bw.run(spent, garbler=sales, evaluator=[11, 7]).garbler == 103


if __name__ == "__main__":
    main()
