"""Does calibration hold in every group and at all times?"""
