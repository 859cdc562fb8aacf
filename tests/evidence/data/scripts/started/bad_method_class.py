import torch.multiprocessing as mp


def simulate(link, seed):
    link.send(seed)


class Simulators:
    def __init__(self, count):
        mp.set_start_method("spawn")  # distkb: script.start-method-twice
        self.running = [mp.Process(target=simulate, args=(None, seed)) for seed in range(count)]
        for one in self.running:
            one.start()


class Referee:
    def __init__(self, count):
        self.count, self.simulators = count, None

    def score(self, policy):
        if self.simulators is None:
            self.simulators = Simulators(self.count)
        return policy


def main(rounds, policy):
    learners, referee = Simulators(8), Referee(2)
    for number in range(rounds):
        if number % 10 == 0:
            print(referee.score(policy), learners)


if __name__ == "__main__":
    main(100, None)
