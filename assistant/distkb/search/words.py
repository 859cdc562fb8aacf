"""Word lists that the tokenizer needs: particles and words that carry no topic.

They are plain data, so that the same lists can be shipped to the site's search.
"""

from __future__ import annotations


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


PARTICLES = _set("""
    이 가 은 는 을 를 의 에 에서 에서는 에서도 에서만 에선 에는 에도 에만 으로 로 으로는 로는 으로도
    로도 으로만 로만 으로써 로써 으로서 로서 와 과 와의 과의 와는 과는 도 만 만의 만을 만이 까지 까지는
    까지만 부터 에게 에게서 한테 께 보다 보다도 처럼 같이 이나 나 이랑 랑 이랑은 하고 인데 인데도 이라 라
    이라고 라고 이라는 라는 이란 란 이라서 라서 이고 고 이며 며 이면 면 이라면 라면 이던 던 입니다 이에요
    예요 에요 인가요 인가 인지 일까요 일까 이네요 네요 이죠 죠 이지 지 임 이다 다 마다 밖에 조차 마저
    든지 이든 이든지 이야 야 용 씩 들 들이 들은 들을 들의 들도 때문에 상에서 상의 간의 간에 중에 중에서
    내에서 내의 하 하나요 해요 됩니다 합니다 했더니 해도 하면 할때 할 한 된 인 일 의경우 이어도 여도
    이었는데 였는데 이라도 라도 으로부터 로부터 에서부터 만큼 대로 이상하게
""")
"""What may follow a word directly and adds no topic: postpositions, and the copula's common endings."""

STOP_WORDS = _set("""
    a an the and or of to in on at by for from with as is are was were be been being am it its
    this that these those there here i im ive my me we our us you your he she they their them do
    does did done doing don dont doesn doesnt didn didnt can cant could couldn should shouldn
    shall will would wouldn won wont may might must have haven has hasn had having get gets got
    getting what why how when where which who whose if then else so but than because while about
    into onto over also just any some such very really too please help hi hello thanks thank
    anyone someone something anything need want try tried trying seem seems like know think way
    thing things problem problems issue issues question ok okay still even though although
    however actually basically ll ve re isn aren wasn weren let lets make makes made using use
    used via vs etc eg ie per after before during again sure see saw seen says say said tell go
    goes going went come comes put give given show shows shown
""")
"""English words that carry no topic here. `not`, `no`, `only`, `all`, `same`, `every` do, and stay."""

WEAK_WORDS = _set("""
    everything nothing everybody nobody everyone always never often usually total whole entire
    terminal screen computer thing stuff lot lots bunch kind sort part parts piece bit much many
    more most less least few little enough up down off out away around back forward between among
    within without against along across together apart now soon later already yet ever once twice
    today yesterday suddenly finally eventually quickly immediately new old good bad better best
    big small large huge long short high low right wrong correct proper real actual whole normal
    default simple basic same different other another own certain several various similar look
    looks looking find found want wants wanted expect expected ask asked check checked happen
    happens happened happening work works worked working run runs running ran code script program
    call called calls set sets change changed add added remove removed create created start
    started starts begin began end ended ends keep keeps kept take takes took taken turn turned
    leave leaves left mean means meant cause caused causes become became able unable possible
    instead rather correctly properly simply following follow current currently case cases
    example time times way ways while until unless either neither both whether fine well
    night morning evening day days week weeks hour hours minute minutes second seconds
    moment beginning middle anymore anyway somehow somewhere anywhere nowhere thanks
    machine setup environment model training train error errors report reported message
""")
"""English words that carry little topic in questions about training: they count a fraction."""

STOP_HANGUL = _set("""
    어떻게 왜 뭐 뭐가 뭔가 뭘까요 무엇 무슨 어떤 원래 이건 이게 그건 그게 저는 제가 저희 우리 그런데 근데
    그래서 그리고 그러면 그럼 혹시 정말 진짜 너무 계속 자꾸 이거 그거 이런 그런 저런 이렇게 그렇게 좀 더
    다 또 잘 안 못 수 것 거 게 건가요 거죠 하나요 되나요 있나요 없나요 인가요 건지 해요 돼요 되요 떠요
    나요 네요 나옵니다 뜹니다 합니다 됩니다 있습니다 정상인가요 문제인가요 맞나요 아닌가요 어디서 어디 언제
    누가 얼마나 제대로 경우 때 때문에 대해 대한 관련 관련된 대체 도대체 아니면 하려고 하려는데 하니 하니까
    했는데 했더니 하는데 하고 해서 하면 하는 한 할 해 했 된 되는 되면 돼서 있는 있고 있는데 없는 없이
    같은데 같아요 거든요 에러 오류 에러가 오류가 에러를 문제 문제가 부탁드립니다 질문 안녕하세요 감사합니다
    나오는 나와요 나는데 뜨는데요 뜨는데 뜬다 싶은데 싶어요 알려주세요 가요 것은 것이 것을 거는
""")
"""Korean words (as written, between spaces) that carry no topic: fillers, question words, bare auxiliaries."""

STOP_BIGRAMS = _set("""
    습니 니다 합니 됩니 입니 옵니 나요 어요 아요 해요 돼요 되요 가요 까요 네요 데요 세요 지요 거죠 하죠
    인데 는데 은데 던데 더니 니까 으니 하니 에서 으로 부터 까지 에게 한테 이라 라고 라는 다고 다는 하고
    하는 하면 하여 해서 했는 했더 했습 하였 되는 되어 되고 되면 된다 한다 하다 되다 이다 이고 이며 에는
    에도 만의 들이 들은 들을 거나 려고 하려 려는 면서 어서 아서 지만 였습 었습 았습 있습 없습 있는 있고
    있어 하지 되지 었는 았는 같은 같이 때문 문에 대로 인가 건가 는가 을까 을때 할때
""")
"""Pairs of syllables made of endings and particles only."""

SOLID_WORDS = _set("""
    DeepSpeed HuggingFace TensorBoard TensorFlow InfiniBand GitHub JavaScript OpenMPI SageMaker
    StackOverflow YouTube FlashAttention JupyterLab
""")
"""Names written with inner capitals that are one word."""
